//go:build unix

package osproc

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"

	"assay/fakes/virtual"
)

// Process is a running or ended process. It is safe for concurrent use. Its methods have the guarantees of [virtual.Process].
type Process struct {
	sys     *System
	proc    *os.Process
	pid     uint32
	in      *input   // nil without stdin
	tty     *os.File // our end of the terminal; nil without one
	slave   *os.File // the child's end: while we hold it, the terminal stays open even if the process closes its own
	readers []*reader

	exited  chan struct{}
	drained chan struct{}
	gaveUp  chan struct{} // closed when this package killed the process

	status virtual.Status // written before exited is closed
	kill   sync.Once

	mu     sync.Mutex
	reaped bool
}

// PID returns the pid on the host.
func (p *Process) PID() uint32 { return p.pid }

// Exited is closed when the process itself has ended; its children may still run and hold the output. All its output has been delivered by
// then, unless this package killed it while Output blocked.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Drained is closed when the process has ended and nothing holds its output any more. There is no output afterwards.
func (p *Process) Drained() <-chan struct{} { return p.drained }

// Status returns the exit status after Exited, and the zero Status before.
func (p *Process) Status() virtual.Status {
	if !p.ended() {
		return virtual.Status{}
	}
	return p.status
}

func (p *Process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// Write writes all of b to stdin, or types it on the terminal. It blocks while the pipe is full, until ctx is done; part of b may have been
// written by then. Errors: [virtual.ErrStdinClosed], [virtual.ErrBrokenPipe] (the process has ended or closed stdin), or the context's.
func (p *Process) Write(ctx context.Context, b []byte) error {
	switch {
	case p.in == nil:
		return virtual.ErrStdinClosed
	case p.ended():
		return virtual.ErrBrokenPipe
	case p.in.closed.Load():
		return virtual.ErrStdinClosed
	}
	return p.in.write(ctx, b)
}

// CloseStdin closes stdin: the reader gets the buffered bytes and then EOF. It is idempotent, and has no effect without stdin or on a
// terminal, which ends with a typed ^D.
func (p *Process) CloseStdin() {
	if p.in != nil && p.tty == nil {
		p.in.closed.Store(true)
		p.in.close()
	}
}

// Signal delivers a signal to this process only, never to its children. It never blocks. Errors: [virtual.ErrEnded] after its end, EINVAL for
// an invalid signal. Signal 0 only checks whether the process runs.
func (p *Process) Signal(sig syscall.Signal) error {
	if sig < 0 || sig > maxSignal {
		return syscall.EINVAL
	}
	if sig == syscall.SIGKILL {
		defer p.killed()
	}
	if err := p.proc.Signal(sig); errors.Is(err, os.ErrProcessDone) {
		return virtual.ErrEnded
	} else if err != nil {
		return err
	}
	return nil
}

// killed marks the process as killed, so that its end does not wait for a blocked Output.
func (p *Process) killed() { p.kill.Do(func() { close(p.gaveUp) }) }

// sessionIsOurs reports whether the pid still identifies the session of the process. The pid of an ended leader is not reused while its session
// has members, so a process with that pid is foreign.
func (p *Process) sessionIsOurs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.reaped || !exists(int(p.pid))
}

// letGo ends the output with the currently available bytes, because its holders are out of reach.
func (p *Process) letGo() {
	for _, r := range p.readers {
		r.flush(true)
	}
}

// wait waits for the end of the process.
func (p *Process) wait() {
	status := p.reap()
	p.deliverRest()
	p.status = status
	close(p.exited)
	if p.slave != nil {
		_ = p.slave.Close() // from now on the terminal closes when no process holds it
	} else if p.in != nil {
		p.in.close()
	}
	for _, r := range p.readers {
		<-r.done
	}
	p.sys.remove(p)
	close(p.drained)
}

func (p *Process) reap() virtual.Status {
	state, err := p.proc.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	if err != nil {
		return virtual.Status{Code: 255} // another wait took its status
	}
	ws, ok := state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return virtual.Status{Signal: ws.Signal()}
	}
	return virtual.Status{Code: state.ExitCode()}
}

// deliverRest waits until all output of the process has been delivered.
func (p *Process) deliverRest() {
	for _, r := range p.readers {
		flushed := r.flush(false)
		select {
		case <-flushed:
			continue
		case <-r.done:
			continue
		case <-p.gaveUp:
		}
		r.grace(flushed)
	}
}
