package osproc

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"

	"assay/fakes/virtual"
)

// Process is a running or ended process. It is safe for concurrent use. Its methods promise what those of [virtual.Process] promise.
type Process struct {
	sys     *System
	proc    *os.Process
	pid     uint32
	in      *input   // nil without stdin
	tty     *os.File // our end of the terminal; nil without one
	slave   *os.File // the child's end: while we hold it, the terminal outlives a process that has closed its own
	readers []*reader

	exited  chan struct{}
	drained chan struct{}
	gaveUp  chan struct{} // closed when it was killed through this package

	status virtual.Status // written before exited is closed
	kill   sync.Once

	mu     sync.Mutex
	reaped bool
}

// PID is its number on the host.
func (p *Process) PID() uint32 { return p.pid }

// Exited is closed when the process itself has ended; its children may live on and hold the output.
// All that it wrote has been delivered by then, unless it was killed through this package while Output blocked.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Drained is closed when the process has ended and nobody holds its output any more. Nothing is output after it.
func (p *Process) Drained() <-chan struct{} { return p.drained }

// Status is valid after Exited; before, it is the zero Status.
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

// CloseStdin ends stdin: the reader gets what is buffered and then its end. Idempotent, and without effect when stdin was not asked for
// or is a terminal, which ends by a typed ^D.
func (p *Process) CloseStdin() {
	if p.in != nil && p.tty == nil {
		p.in.closed.Store(true)
		p.in.close()
	}
}

// Signal delivers a signal to this process only, never to its children. It never blocks.
// Errors: [virtual.ErrEnded] when it has ended, EINVAL for what is no signal. Signal 0 only asks whether it lives.
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

// killed says that nobody wants to wait for a blocked Output before this process counts as ended.
func (p *Process) killed() { p.kill.Do(func() { close(p.gaveUp) }) }

// sessionIsOurs says whether the pid still names the session that the process made. The number of an ended leader is not used again while its
// session has members, so a process of that number is a stranger's.
func (p *Process) sessionIsOurs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.reaped || !exists(int(p.pid))
}

// letGo ends the output at what is there now, for who still holds it is out of reach.
func (p *Process) letGo() {
	for _, r := range p.readers {
		r.flush(true)
	}
}

// wait sees the process to its end.
func (p *Process) wait() {
	status := p.reap()
	p.deliverRest()
	p.status = status
	close(p.exited)
	if p.slave != nil {
		_ = p.slave.Close() // from here on the terminal ends when nobody else holds it
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
		return virtual.Status{Code: 255} // somebody else has waited for it: its status is lost
	}
	ws, ok := state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return virtual.Status{Signal: ws.Signal()}
	}
	return virtual.Status{Code: state.ExitCode()}
}

// deliverRest waits until what the process wrote has been delivered.
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
