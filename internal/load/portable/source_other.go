//go:build !linux

package portable

import "syscall"

// latePort does nothing. On this system, binding a socket chooses its port.
func latePort(string, string, syscall.RawConn) error { return nil }
