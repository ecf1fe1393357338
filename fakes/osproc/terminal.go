//go:build unix

package osproc

import (
	"os"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"assay/fakes/virtual"
)

// onTerminal creates a pseudo-terminal. The child's end becomes its three descriptors and its controlling terminal.
func (p *Process) onTerminal(spec virtual.Spec) (child []*os.File, err error) {
	blocking, tty, err := pty.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = blocking.Close() }() // its duplicate stays open
	child = []*os.File{tty}
	if p.tty, err = pollable(blocking); err != nil {
		return child, err
	}
	p.in = newInput(p.tty)
	p.readers = []*reader{newReader(p.tty, virtual.PTY, spec.Output, ptyChunk)}
	return child, setSize(p.tty, *spec.PTY)
}

// pollable returns the same open file under the runtime's poller: package pty opens it blocking, and Close does not end a blocking read.
func pollable(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd) // report the first error
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// setSize sets the size with TIOCSWINSZ; the kernel sends SIGWINCH to the foreground process group if it changes.
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

// Resize sets the size of the terminal and, if it changes, sends SIGWINCH to the foreground process group. Errors: [virtual.ErrNoTerminal]
// without a terminal, [virtual.ErrEnded] after the end of the process.
func (p *Process) Resize(to virtual.Size) error {
	if p.tty == nil {
		return virtual.ErrNoTerminal
	}
	if p.ended() || setSize(p.tty, to) != nil {
		return virtual.ErrEnded // the only error that an open terminal has
	}
	return nil
}
