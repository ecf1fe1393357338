//go:build unix

package load

import "syscall"

// ownGroup puts a process into a group of its own, where signals of the terminal do
// not reach it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
