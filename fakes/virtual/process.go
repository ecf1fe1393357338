package virtual

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"assay/internal/base/crash"
)

// The errors of the methods of Process.
var (
	// ErrEnded means that the process has ended and cannot be signalled.
	ErrEnded = errors.New("process has ended")
	// ErrStdinClosed means that stdin was not enabled or has been closed by CloseStdin.
	ErrStdinClosed = errors.New("stdin not enabled or closed")
	// ErrBrokenPipe means that stdin has no reader: the process has ended or has closed it.
	ErrBrokenPipe = errors.New("broken pipe")
	// ErrNoTerminal means that the process was started without [Spec.PTY] and cannot be resized.
	ErrNoTerminal = errors.New("process has no terminal")
)

// shellFDs is the first private descriptor of the shell, for files hidden by a redirection. Children do not inherit these.
const shellFDs = 10

// Status is the end of a process: exit with Code (Signal is 0), or Signal (Code is 0).
type Status struct {
	Code   int
	Signal syscall.Signal
}

// shellCode returns the status as in $?.
func (s Status) shellCode() int {
	if s.Signal != 0 {
		return 128 + int(s.Signal)
	}
	return s.Code
}

// tree is the shared state of the processes of one Start.
type tree struct {
	live   atomic.Int32 // processes that run
	forked atomic.Int32 // children whose goroutine has not left them, dead or not
	steps  atomic.Int64
	user   string // who owns the files that they create
}

// Process is a running or ended process. It is safe for concurrent use.
//
// The end of a process does not wait for its goroutine: end marks the process, closes its descriptors and removes it from the table at once; every
// blocking call of the goroutine watches done and returns.
type Process struct {
	sys   *System
	pid   uint32
	ppid  uint32
	depth int
	tree  *tree
	out   *output   // only for a process of Start
	stdin *pipe     // only for a process of Start with Spec.Stdin
	tty   *terminal // the controlling terminal of its session, nil without one
	done  chan struct{}

	dead    atomic.Bool
	pgid    atomic.Uint32 // process group
	pending atomic.Uint64 // sigset: trapped signals waiting for the shell

	mu      sync.Mutex
	fds     []*file
	status  Status
	ignored sigset
	trapped sigset
	own     sigset        // ignored only by an interactive shell itself: children do not inherit it
	wake    chan struct{} // one token when a trapped signal arrives
	after   []func()      // of AfterExit
}

// PID returns the pid, unique among the running processes of the system.
func (p *Process) PID() uint32 { return p.pid }

// Exited is closed when the process itself has ended; its children may still run and hold the output. All its output has been delivered by then, except
// a write during which it was killed.
func (p *Process) Exited() <-chan struct{} { return p.done }

// AfterExit runs fn on a goroutine of its own once Exited is closed: at once if it already is.
func (p *Process) AfterExit(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead.Load() {
		detach(func() {
			<-p.done // end is about to close it
			fn()
		})
		return
	}
	p.after = append(p.after, fn)
}

// detach runs fn on a goroutine of its own.
func detach(fn func()) {
	crash.Go(func() {
		fn()
	})
}

// Drained is closed when the process has ended and nothing holds its output any more. There is no output afterwards.
func (p *Process) Drained() <-chan struct{} { return p.out.drained }

// Status returns the exit status after Exited, and the zero Status before.
func (p *Process) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Write writes all of b to stdin. It blocks while 64 KiB are unread, until ctx is done; part of b may have been written by then.
// Errors: [ErrStdinClosed], [ErrBrokenPipe] (the process has ended or closed stdin), or the context's.
//
// With a terminal, Write types b: the line discipline processes it, and Write does not wait for the echo.
func (p *Process) Write(ctx context.Context, b []byte) error {
	if p.leads() {
		if p.dead.Load() {
			return ErrBrokenPipe
		}
		return p.typeIn(ctx, b)
	}
	if p.stdin == nil {
		return ErrStdinClosed
	}
	if p.dead.Load() {
		return ErrBrokenPipe
	}
	err := p.stdin.write(stop{dead: p.done, intr: ctx.Done()}, b)
	switch {
	case errors.Is(err, errInterrupted):
		return context.Cause(ctx)
	case errors.Is(err, errDead), errors.Is(err, syscall.EPIPE), err != nil && p.dead.Load():
		return ErrBrokenPipe
	}
	return err
}

// CloseStdin closes stdin: the reader gets the buffered bytes and then EOF. It is idempotent, and has no effect without stdin or on a terminal, which
// ends with a typed ^D.
func (p *Process) CloseStdin() {
	if p.stdin != nil {
		p.stdin.closeWrite()
	}
}

// Signal delivers a signal to this process only, never to its children. It never blocks, not even on a blocked Output. Errors: [ErrEnded] after its end,
// EINVAL for an invalid signal. Signal 0 only checks whether the process runs.
func (p *Process) Signal(sig syscall.Signal) error {
	if sig < 0 || sig > maxSignal {
		return syscall.EINVAL
	}
	p.mu.Lock()
	switch {
	case p.dead.Load():
		p.mu.Unlock()
		return ErrEnded
	case sig == 0:
	case sig == sigKILL:
		p.endLocked(Status{Signal: sig}) // unlocks
		return nil
	case p.ignored.has(sig) || p.own.has(sig) || ignoredByDefault(sig) && !p.trapped.has(sig):
	case p.trapped.has(sig):
		p.pending.Or(uint64(sigset(0).with(sig)))
		select {
		case p.wake <- struct{}{}:
		default:
		}
	default:
		p.endLocked(Status{Signal: sig}) // unlocks
		return nil
	}
	p.mu.Unlock()
	return nil
}

// exit ends the process with a code, unless a signal has already ended it.
func (p *Process) exit(code int) { p.end(Status{Code: code & 0xff}) }

func (p *Process) end(st Status) {
	p.mu.Lock()
	p.endLocked(st)
}

// endLocked ends the process once. It unlocks p.mu.
func (p *Process) endLocked(st Status) {
	if p.dead.Load() {
		p.mu.Unlock()
		return
	}
	p.status = st
	p.dead.Store(true)
	fds, after := p.fds, p.after
	p.fds, p.after = nil, nil
	p.sys.forget(p)
	p.mu.Unlock()

	p.tree.live.Add(-1)
	close(p.done)
	for _, fn := range after {
		detach(fn)
	}
	for _, f := range fds {
		f.close()
	}
	if p.stdin != nil {
		p.stdin.closeWrite()
	}
	if p.leads() && p.tree.live.Load() > 0 && p.sys.killing.Load() == 0 { // other processes remain and are not being killed
		p.tty.leaderEnded()
	}
	if p.out != nil {
		p.out.release()
	}
}

// fork creates a child that inherits the descriptors below 10 and the ignored signals, but no traps. It returns errDead if p has ended and cannot be a
// parent. The goroutine that runs the child leaves it.
func (p *Process) fork() (*Process, error) {
	if p.depth >= maxNesting || p.sys.killing.Load() > 0 {
		return nil, errCannotFork
	}
	c := &Process{sys: p.sys, ppid: p.pid, depth: p.depth + 1, tree: p.tree, tty: p.tty, done: make(chan struct{})}
	if p.tree.forked.Add(1) >= maxTree {
		p.tree.forked.Add(-1)
		return nil, errCannotFork
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead.Load() {
		c.leave()
		return nil, errDead
	}
	c.fds = make([]*file, min(len(p.fds), shellFDs))
	for i := range c.fds {
		c.fds[i] = p.fds[i].dup()
	}
	c.ignored = p.ignored
	c.pgid.Store(p.pgid.Load())
	p.tree.live.Add(1)
	p.sys.register(c)
	return c, nil
}

// leave notes that the goroutine of a child has left it.
func (p *Process) leave() { p.tree.forked.Add(-1) }

// get returns the file of a descriptor, held until the caller closes it, or nil.
func (p *Process) get(fd int) *file {
	p.mu.Lock()
	defer p.mu.Unlock()
	if fd < 0 || fd >= len(p.fds) {
		return nil
	}
	return p.fds[fd].dup()
}

// set assigns f to a descriptor and closes the previous file. nil only closes. The process owns f from then on.
func (p *Process) set(fd int, f *file) {
	p.mu.Lock()
	if p.dead.Load() {
		p.mu.Unlock()
		f.close()
		return
	}
	for len(p.fds) <= fd {
		p.fds = append(p.fds, nil)
	}
	old := p.fds[fd]
	p.fds[fd] = f
	p.mu.Unlock()
	old.close()
}

// save copies a descriptor to a free one from 10 up and returns that.
func (p *Process) save(fd int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead.Load() {
		return shellFDs
	}
	for len(p.fds) < shellFDs {
		p.fds = append(p.fds, nil)
	}
	at := len(p.fds)
	p.fds = append(p.fds, p.fds[fd].dup())
	return at
}

// restore moves a saved descriptor back. Saves are undone in reverse order.
func (p *Process) restore(at, fd int) {
	p.mu.Lock()
	if p.dead.Load() {
		p.mu.Unlock()
		return
	}
	f := p.fds[at]
	p.fds = slices.Delete(p.fds, at, at+1)
	p.mu.Unlock()
	p.set(fd, f)
}

// becomes prepares for another program in the same process (exec): it closes the shell's own descriptors and drops its traps.
func (p *Process) becomes() {
	p.mu.Lock()
	var own []*file
	if len(p.fds) > shellFDs {
		own = slices.Clone(p.fds[shellFDs:])
		p.fds = p.fds[:shellFDs]
	}
	p.trapped, p.own = 0, 0
	p.pending.Store(0)
	p.mu.Unlock()
	for _, f := range own {
		f.close()
	}
}

// read reads from a descriptor, see [description].
func (p *Process) read(fd, limit, delim int) ([]byte, error) {
	return p.readUntil(stop{dead: p.done}, fd, limit, delim)
}

func (p *Process) readUntil(s stop, fd, limit, delim int) ([]byte, error) {
	f := p.get(fd)
	if f == nil {
		return nil, p.badFD()
	}
	defer f.close()
	return f.desc.read(s, limit, delim)
}

// write writes all of b. A pipe without a reader causes SIGPIPE.
func (p *Process) write(fd int, b []byte) error {
	if p.dead.Load() {
		return errDead
	}
	if !p.goOn() {
		return errDead
	}
	if len(b) > flushAt/8 {
		runtime.Gosched() // it takes its receiver as long as many small ones
	}
	f := p.get(fd)
	if f == nil {
		return p.badFD()
	}
	err := f.desc.write(stop{dead: p.done}, b)
	f.close()
	if errors.Is(err, syscall.EPIPE) {
		_ = p.Signal(sigPIPE) // the process may have ended
	}
	return err
}

func (p *Process) badFD() error {
	if p.dead.Load() {
		return errDead
	}
	return syscall.EBADF
}
