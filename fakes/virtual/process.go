package virtual

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// The errors of the calls on a process.
var (
	// ErrEnded says that the process has ended, so there is nothing to signal.
	ErrEnded = errors.New("process has ended")
	// ErrStdinClosed says that stdin was not asked for or has been closed by CloseStdin.
	ErrStdinClosed = errors.New("stdin not enabled or closed")
	// ErrBrokenPipe says that nobody can read stdin any more: the process has ended or has closed it.
	ErrBrokenPipe = errors.New("broken pipe")
	// ErrNoTerminal says that the process was started without [Spec.PTY], so there is nothing to resize.
	ErrNoTerminal = errors.New("process has no terminal")
)

// shellFDs is the first descriptor that is the shell's own: there it keeps what a redirection hides. Children do not inherit them.
const shellFDs = 10

// Status is how a process ended: by exit with Code (Signal is 0), or by Signal (Code is 0).
type Status struct {
	Code   int
	Signal syscall.Signal
}

// shellCode is the status as $? shows it.
func (s Status) shellCode() int {
	if s.Signal != 0 {
		return 128 + int(s.Signal)
	}
	return s.Code
}

// tree is what the processes below one Start have in common.
type tree struct{ live atomic.Int32 }

// Process is a running or ended process. It is safe for concurrent use.
//
// Ending a process and the unwinding of its goroutine are two things: end marks it, closes its descriptors and leaves the table at once,
// whatever the goroutine is doing; every blocking call of the goroutine watches done and returns.
type Process struct {
	sys   *System
	pid   uint32
	ppid  uint32
	depth int
	tree  *tree
	out   *output   // only a started process
	stdin *pipe     // only a started process with Spec.Stdin
	tty   *terminal // the controlling terminal of its session, nil without one
	done  chan struct{}

	dead    atomic.Bool
	pgid    atomic.Uint32 // process group
	pending atomic.Uint64 // sigset: trapped signals that wait for the shell

	mu      sync.Mutex
	fds     []*file
	status  Status
	ignored sigset
	trapped sigset
	own     sigset        // ignored by an interactive shell for itself: children do not inherit it
	wake    chan struct{} // one token when a trapped signal arrives
}

// PID is its number, unique among the live processes of its system.
func (p *Process) PID() uint32 { return p.pid }

// Exited is closed when the process itself has ended; its children may live on and hold the output.
// All that it wrote has been delivered by then, except for a write during which it was killed.
func (p *Process) Exited() <-chan struct{} { return p.done }

// Drained is closed when the process has ended and nobody holds its output any more. Nothing is output after it.
func (p *Process) Drained() <-chan struct{} { return p.out.drained }

// Status is valid after Exited; before, it is the zero Status.
func (p *Process) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Write writes all of b to stdin. It blocks while 64 KiB are unread, until ctx is done; part of b may have been written by then.
// Errors: [ErrStdinClosed], [ErrBrokenPipe] (the process has ended or closed stdin), or the context's.
//
// With a terminal, b is typed: the line discipline handles it, and Write does not wait for the echo.
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

// CloseStdin ends stdin: the reader gets what is buffered and then its end. Idempotent, and without effect when stdin was not asked for
// or is a terminal, which ends by a typed ^D.
func (p *Process) CloseStdin() {
	if p.stdin != nil {
		p.stdin.closeWrite()
	}
}

// Signal delivers a signal to this process only, never to its children. It never blocks, not even on an Output that does.
// Errors: [ErrEnded] when it has ended, EINVAL for what is no signal. Signal 0 only asks whether it lives.
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

// exit ends the process with a code, unless a signal was faster.
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
	fds := p.fds
	p.fds = nil
	p.sys.forget(p)
	p.mu.Unlock()

	p.tree.live.Add(-1)
	close(p.done)
	for _, f := range fds {
		f.close()
	}
	if p.stdin != nil {
		p.stdin.closeWrite()
	}
	if p.leads() && p.tree.live.Load() > 0 && p.sys.killing.Load() == 0 { // somebody is left to hear of it, and will live to
		p.tty.leaderEnded()
	}
	if p.out != nil {
		p.out.release()
	}
}

// fork makes a child that inherits the descriptors below 10 and the ignored signals. Traps are not inherited.
// errDead when p has ended: then there is nobody to be the parent.
func (p *Process) fork() (*Process, error) {
	if p.depth >= maxNesting || p.tree.live.Load() >= maxTree || p.sys.killing.Load() > 0 {
		return nil, errCannotFork
	}
	c := &Process{sys: p.sys, ppid: p.pid, depth: p.depth + 1, tree: p.tree, tty: p.tty, done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead.Load() {
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

// get is the file behind a descriptor, held until the caller closes it; nil when there is none.
func (p *Process) get(fd int) *file {
	p.mu.Lock()
	defer p.mu.Unlock()
	if fd < 0 || fd >= len(p.fds) {
		return nil
	}
	return p.fds[fd].dup()
}

// set puts f behind a descriptor and closes what was there. nil closes only. f is the process's from then on.
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

// save copies a descriptor to a free one from 10 up and says which.
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

// restore moves what save put aside back. Saves are undone in reverse order.
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

// becomes prepares for another program in the same process (exec): the shell's own descriptors and its traps go.
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

// write writes all of b. A pipe that nobody reads is SIGPIPE, as everywhere.
func (p *Process) write(fd int, b []byte) error {
	if p.dead.Load() {
		return errDead
	}
	f := p.get(fd)
	if f == nil {
		return p.badFD()
	}
	err := f.desc.write(stop{dead: p.done}, b)
	f.close()
	if errors.Is(err, syscall.EPIPE) {
		_ = p.Signal(sigPIPE) // an ended process needs no signal
	}
	return err
}

func (p *Process) badFD() error {
	if p.dead.Load() {
		return errDead
	}
	return syscall.EBADF
}
