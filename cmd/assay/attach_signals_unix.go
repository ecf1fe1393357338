//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"assay/internal/command/attach"
)

// notifyMore sends the signals to a channel that are of use to a sandbox, and that the program does
// not catch anyway. The second channel gets those that may have changed the terminal: SIGWINCH, and SIGCONT,
// after which the shell has put back its own modes.
func notifyMore(signals, terminal chan<- os.Signal) {
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM)
	signal.Notify(terminal, syscall.SIGWINCH, syscall.SIGCONT)
}

// continued reports whether the program was stopped and goes on.
func continued(s os.Signal) bool { return s == syscall.SIGCONT }

// signalOf returns the name and the number of a signal.
func signalOf(s os.Signal) attach.Signal {
	n, _ := s.(syscall.Signal)
	return attach.Signal{Name: unix.SignalName(n), Number: int(n)}
}
