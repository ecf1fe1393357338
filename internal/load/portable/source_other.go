//go:build !linux

package portable

import "syscall"

// latePort does nothing: here a port is chosen when a socket is bound.
func latePort(string, string, syscall.RawConn) error { return nil }
