//go:build !unix

package load

import "syscall"

// ownGroup does nothing here.
func ownGroup() *syscall.SysProcAttr { return nil }
