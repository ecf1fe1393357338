package virtual

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"syscall"

	"assay/internal/base/crash"
)

// maxEcho limits the echo waiting for a blocked output; further echo is dropped.
const maxEcho = 64 << 10

// terminal is a pseudo-terminal: the line discipline between [Process.Write] and the processes of a session.
//
// Only the writing process blocks on Output: the current deliverer also delivers echo, or else a goroutine that lives only for that delivery. An idle
// terminal is a few hundred bytes and no descriptor.
type terminal struct {
	sys    *System
	out    *output
	number uint32 // N of /dev/pts/N

	mu         sync.Mutex
	disc       discipline
	size       Size
	leader     uint32        // of the session
	foreground uint32        // the process group that receives signals
	echo       []byte        // typed, processed, not yet delivered
	busy       bool          // a delivery is in progress
	changed    chan struct{} // created by a waiter, closed at a change
}

// name returns its path.
func (t *terminal) name() string { return "/dev/pts/" + strconv.FormatUint(uint64(t.number), 10) }

// waiter returns a channel that is closed at the next change. The caller holds mu.
func (t *terminal) waiter() <-chan struct{} {
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.changed
}

// notify wakes all waiters. The caller holds mu.
func (t *terminal) notify() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// open returns a new open file of the terminal, or nil if its output has drained.
func (t *terminal) open() *file {
	if !t.out.hold() {
		return nil
	}
	return newFile(ttyFile{t})
}

// typeIn processes typed bytes. It blocks while 64 KiB are unread.
func (t *terminal) typeIn(s stop, b []byte) error {
	for len(b) > 0 {
		t.mu.Lock()
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

// take feeds bytes to the discipline until a signal or until there is no room. The caller holds mu.
func (t *terminal) take(b []byte) (n int, sig syscall.Signal) {
	shown := len(t.echo)
	for n < len(b) && sig == 0 && len(t.disc.ready)+len(t.disc.line) < pipeSize && len(t.disc.lines) < pipeSize {
		t.echo, sig = t.disc.input(b[n], t.echo)
		if len(t.echo) > maxEcho { // ^R shows a whole line again
			t.echo = t.echo[:max(shown, maxEcho)]
		}
		n++
	}
	return n, sig
}

// startEcho starts the delivery of pending echo. The caller holds mu.
func (t *terminal) startEcho() {
	if t.busy || t.disc.paused || len(t.echo) == 0 || !t.out.hold() {
		return
	}
	t.busy = true
	crash.Go(func() {
		t.mu.Lock()
		t.deliverEcho()
		t.mu.Unlock()
		t.out.release()
	})
}

// deliverEcho ends a turn: it delivers pending echo and lets others deliver. The caller holds mu and the turn.
func (t *terminal) deliverEcho() {
	for len(t.echo) > 0 && !t.disc.paused {
		b := t.echo
		t.echo = nil
		t.mu.Unlock()
		t.out.deliver(PTY, b)
		t.mu.Lock()
	}
	t.busy = false
	t.notify()
}

// write writes the bytes of a process. It returns when they, and the echo before them, have been delivered.
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

// read reads for a process: a line in canonical mode, the available bytes in raw mode; io.EOF for ^D.
func (t *terminal) read(s stop, limit, delim int) ([]byte, error) {
	for {
		t.mu.Lock()
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

// modes returns the current modes and size.
func (t *terminal) modes() (modes, Size) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.disc.mode, t.size
}

// setModes switches the modes and wakes readers and writers that the new modes unblock.
func (t *terminal) setModes(m modes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disc.set(m)
	t.notify()
	t.startEcho()
}

// resize sets the size and sends SIGWINCH to the foreground process group if it changes.
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

// wrapped returns the size that a terminal can represent.
func (s Size) wrapped() Size { return Size{Cols: s.Cols & 0xffff, Rows: s.Rows & 0xffff} }

// setForeground sets the process group that receives signals.
func (t *terminal) setForeground(group uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.foreground = group
}

// leaderEnded handles the end of a session leader: it sends SIGHUP to the foreground process group. Survivors keep the terminal.
func (t *terminal) leaderEnded() {
	t.mu.Lock()
	group := t.foreground
	t.mu.Unlock()
	t.sys.signalGroup(group, sigHUP)
}

// ttyFile is the terminal as an open file. All descriptors of a session that inherit it share it.
type ttyFile struct{ t *terminal }

func (f ttyFile) read(s stop, limit, delim int) ([]byte, error) { return f.t.read(s, limit, delim) }
func (f ttyFile) write(s stop, b []byte) error                  { return f.t.write(s, b) }
func (f ttyFile) close()                                        { f.t.out.release() }

// stoppedReader is the terminal as stdin of a background job: a read would stop the job, so here it never returns.
type stoppedReader struct{ ttyFile }

func (f stoppedReader) read(s stop, _, _ int) ([]byte, error) { return nil, s.wait(nil) }

// terminal returns the terminal of a descriptor, or nil.
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

// Resize sets the size of the terminal and, if it changes, sends SIGWINCH to the foreground process group. Errors: [ErrNoTerminal] without a terminal,
// [ErrEnded] after the end of the process.
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

// leads reports whether the process was started with a terminal.
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
