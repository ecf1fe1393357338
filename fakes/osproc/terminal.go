package osproc

import (
	"os"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"assay/fakes/virtual"
)

// onTerminal makes a pseudo-terminal. The child's end becomes its three descriptors and its controlling terminal.
func (p *Process) onTerminal(spec virtual.Spec) (child []*os.File, err error) {
	blocking, tty, err := pty.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = blocking.Close() }() // its duplicate stays
	child = []*os.File{tty}
	if p.tty, err = pollable(blocking); err != nil {
		return child, err
	}
	p.in = newInput(p.tty)
	p.readers = []*reader{newReader(p.tty, virtual.PTY, spec.Output, ptyChunk)}
	return child, setSize(p.tty, *spec.PTY)
}

// pollable is the same open file behind the runtime's poller: package pty has made it blocking, and a blocking read ends by no Close.
func pollable(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd) // the first error says it all
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// setSize is TIOCSWINSZ; the kernel sends SIGWINCH to the foreground process group when the size is another.
func setSize(tty *os.File, to virtual.Size) error {
	raw, err := tty.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(to.Rows), Col: uint16(to.Cols)})
	})
	if err != nil {
		return err
	}
	return failed
}

// Resize gives the terminal another size and, when it differs from the present one, sends SIGWINCH to the foreground process group.
// Errors: [virtual.ErrNoTerminal] without a terminal, [virtual.ErrEnded] when the process has ended.
func (p *Process) Resize(to virtual.Size) error {
	if p.tty == nil {
		return virtual.ErrNoTerminal
	}
	if p.ended() || setSize(p.tty, to) != nil {
		return virtual.ErrEnded // the only error that an open terminal has
	}
	return nil
}

// Hangup takes the other end of the terminal away, as when a connection is lost: the session leader and the foreground process group get
// SIGHUP, reads end, writes fail and what is still written is lost. Without a terminal, and the second time, it does nothing.
func (p *Process) Hangup() {
	if p.tty != nil {
		_ = p.tty.Close() // closed already: hung up already
	}
}
