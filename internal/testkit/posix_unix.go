//go:build unix

package testkit

import "syscall"

// Signals that only Unix has.
const (
	SIGSTOP = syscall.SIGSTOP
	SIGCONT = syscall.SIGCONT
	SIGUSR1 = syscall.SIGUSR1
)

// MkFIFO makes a named pipe.
func MkFIFO(path string) error { return syscall.Mkfifo(path, 0o600) }
