package virtual

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"syscall"
)

// maxEcho is how much echo may wait for an output that is blocked; what comes after it is not shown.
const maxEcho = 64 << 10

// terminal is a pseudo-terminal: the line discipline between who types ([Process.Write]) and the processes of a session.
//
// Nothing here blocks on Output but the process that writes: echo is delivered by whoever delivers at the time, else by a goroutine that
// lives for that delivery only. An idle terminal is a few hundred bytes and no descriptor.
type terminal struct {
	sys    *System
	out    *output
	number uint32 // N of /dev/pts/N

	mu         sync.Mutex
	disc       discipline
	size       Size
	leader     uint32 // of the session
	foreground uint32 // the process group that gets signals
	hungUp     bool
	echo       []byte        // typed, processed, not yet delivered
	busy       bool          // somebody delivers
	changed    chan struct{} // made by who waits, closed by who changes
}

// name is its path.
func (t *terminal) name() string { return "/dev/pts/" + strconv.FormatUint(uint64(t.number), 10) }

// waiter is closed at the next change. The caller holds mu.
func (t *terminal) waiter() <-chan struct{} {
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.changed
}

// notify wakes all who wait. The caller holds mu.
func (t *terminal) notify() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// open makes another open file of the terminal; nil when its output has drained.
func (t *terminal) open() *file {
	if !t.out.hold() {
		return nil
	}
	return newFile(ttyFile{t})
}

// typeIn handles typed bytes. It blocks while 64 KiB are unread. ErrBrokenPipe after a hangup.
func (t *terminal) typeIn(s stop, b []byte) error {
	for len(b) > 0 {
		t.mu.Lock()
		if t.hungUp {
			t.mu.Unlock()
			return ErrBrokenPipe
		}
		n, sig := t.take(b)
		b = b[n:]
		group := t.foreground
		if n > 0 {
			t.notify()
			t.startEcho()
		}
		changed := t.waiter()
		t.mu.Unlock()
		if sig != 0 {
			t.sys.signalGroup(group, sig)
		}
		if n > 0 {
			continue
		}
		if err := s.wait(changed); err != nil {
			return err
		}
	}
	return nil
}

// take feeds bytes to the discipline up to one that is a signal or finds no room. The caller holds mu.
func (t *terminal) take(b []byte) (n int, sig syscall.Signal) {
	shown := len(t.echo)
	for n < len(b) && sig == 0 && len(t.disc.ready)+len(t.disc.line) < pipeSize {
		t.echo, sig = t.disc.input(b[n], t.echo)
		n++
	}
	if len(t.echo) > maxEcho {
		t.echo = t.echo[:max(shown, maxEcho)]
	}
	return n, sig
}

// startEcho sees to it that what waits is delivered. The caller holds mu.
func (t *terminal) startEcho() {
	if t.busy || t.disc.paused || len(t.echo) == 0 || !t.out.hold() {
		return
	}
	t.busy = true
	go func() {
		t.mu.Lock()
		t.deliverEcho()
		t.mu.Unlock()
		t.out.release()
	}()
}

// deliverEcho ends a turn: it delivers the echo that has come meanwhile and lets others deliver. The caller holds mu and the turn.
func (t *terminal) deliverEcho() {
	for len(t.echo) > 0 && !t.disc.paused && !t.hungUp {
		b := t.echo
		t.echo = nil
		t.mu.Unlock()
		t.out.deliver(PTY, b)
		t.mu.Lock()
	}
	t.busy = false
	t.notify()
}

// write is a process's: it returns when its bytes, and the echo before them, have been delivered.
func (t *terminal) write(s stop, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	for {
		select {
		case <-s.dead: // killed while it waited for its turn
			return errDead
		default:
		}
		t.mu.Lock()
		if t.hungUp {
			t.mu.Unlock()
			return syscall.EIO
		}
		if !t.busy && !t.disc.paused {
			break
		}
		changed := t.waiter()
		t.mu.Unlock()
		if err := s.wait(changed); err != nil {
			return err
		}
	}
	defer t.mu.Unlock()
	t.busy = true
	t.echo = t.disc.output(b, t.echo)
	t.deliverEcho()
	return nil
}

// read is a process's: a line in canonical mode, what there is in raw mode. io.EOF for ^D and after a hangup.
func (t *terminal) read(s stop, limit, delim int) ([]byte, error) {
	for {
		t.mu.Lock()
		if t.hungUp {
			t.mu.Unlock()
			return nil, io.EOF
		}
		if t.disc.readable() {
			got := t.disc.read(limit, delim)
			t.notify()
			t.mu.Unlock()
			if len(got) == 0 {
				return nil, io.EOF
			}
			return got, nil
		}
		changed := t.waiter()
		t.mu.Unlock()
		if err := s.wait(changed); err != nil {
			return nil, err
		}
	}
}

// modes are the present ones.
func (t *terminal) modes() (termios, Size) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.disc.mode, t.size
}

// setModes switches them and wakes who may read, or print, by the new ones.
func (t *terminal) setModes(m termios) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disc.set(m)
	t.notify()
	t.startEcho()
}

// resize sets the size; the foreground process group hears of it when it is another.
func (t *terminal) resize(to Size) {
	to = to.wrapped()
	t.mu.Lock()
	same, group := t.size == to, t.foreground
	t.size = to
	t.mu.Unlock()
	if !same {
		t.sys.signalGroup(group, sigWNCH)
	}
}

// wrapped is what a terminal can hold of a size.
func (s Size) wrapped() Size { return Size{Cols: s.Cols & 0xffff, Rows: s.Rows & 0xffff} }

// setForeground makes a process group the one that gets signals.
func (t *terminal) setForeground(group uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.foreground = group
}

// leaderEnded is what the end of a session leader does: SIGHUP to the foreground process group. Who survives that keeps the terminal.
func (t *terminal) leaderEnded() {
	t.mu.Lock()
	group := t.foreground
	t.mu.Unlock()
	t.sys.signalGroup(group, sigHUP)
}

// hangUp is what the loss of the other end does: reads end, writes fail, the leader and the foreground process group get SIGHUP.
func (t *terminal) hangUp() {
	t.mu.Lock()
	leader, group, again := t.leader, t.foreground, t.hungUp
	t.hungUp = true
	t.echo = nil
	t.disc.flushInput()
	t.notify()
	t.mu.Unlock()
	if again {
		return
	}
	if group != leader {
		t.sys.signalGroup(group, sigHUP)
	}
	t.sys.signalGroup(leader, sigHUP)
}

// ttyFile is the terminal as an open file. All descriptors of a session that inherit it share it.
type ttyFile struct{ t *terminal }

func (f ttyFile) read(s stop, limit, delim int) ([]byte, error) { return f.t.read(s, limit, delim) }
func (f ttyFile) write(s stop, b []byte) error                  { return f.t.write(s, b) }
func (f ttyFile) close()                                        { f.t.out.release() }

// stoppedReader is the terminal as stdin of a background job: a read stops the job, which here means that it never returns.
type stoppedReader struct{ ttyFile }

func (f stoppedReader) read(s stop, _, _ int) ([]byte, error) { return nil, s.wait(nil) }

// terminal is the terminal behind a descriptor; nil when it is none.
func (p *Process) terminal(fd int) *terminal {
	f := p.get(fd)
	if f == nil {
		return nil
	}
	defer f.close()
	switch d := f.desc.(type) {
	case ttyFile:
		return d.t
	case stoppedReader:
		return d.t
	}
	return nil
}

// Resize gives the terminal another size and, when it differs from the present one, sends SIGWINCH to the foreground process group.
// Errors: [ErrNoTerminal] without a terminal, [ErrEnded] when the process has ended.
func (p *Process) Resize(to Size) error {
	switch {
	case !p.leads():
		return ErrNoTerminal
	case p.dead.Load():
		return ErrEnded
	}
	p.tty.resize(to)
	return nil
}

// Hangup takes the other end of the terminal away, as when a connection is lost: the session leader and the foreground process group get
// SIGHUP, reads end, writes fail and what is still written is lost. Without a terminal, and the second time, it does nothing.
func (p *Process) Hangup() {
	if p.leads() {
		p.tty.hangUp()
	}
}

// leads holds for a process that was started with a terminal.
func (p *Process) leads() bool { return p.tty != nil && p.tty.leader == p.pid }

// typeIn is Write for a process with a terminal.
func (p *Process) typeIn(ctx context.Context, b []byte) error {
	err := p.tty.typeIn(stop{dead: p.done, intr: ctx.Done()}, b)
	switch {
	case errors.Is(err, errInterrupted):
		return context.Cause(ctx)
	case errors.Is(err, errDead):
		return ErrBrokenPipe
	}
	return err
}
