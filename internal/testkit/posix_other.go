//go:build !unix

package testkit

import (
	"errors"
	"syscall"
)

// Signals that only Unix has: no process gets them here.
const (
	SIGSTOP = syscall.Signal(19)
	SIGCONT = syscall.Signal(18)
	SIGUSR1 = syscall.Signal(10)
)

// MkFIFO returns errors.ErrUnsupported.
func MkFIFO(string) error { return errors.ErrUnsupported }
