//go:build !unix

package main

import (
	"os"
	"syscall"

	"assay/internal/command/attach"
)

// notifyMore does nothing: this system has no further signals.
func notifyMore(_, _ chan<- os.Signal) {}

// continued reports whether the program was stopped and goes on.
func continued(os.Signal) bool { return false }

// signalOf returns the name and the number of a signal.
func signalOf(s os.Signal) attach.Signal {
	if s == syscall.SIGTERM {
		return attach.Signal{Name: "SIGTERM", Number: 15}
	}
	return attach.Signal{Name: "SIGINT", Number: 2}
}
