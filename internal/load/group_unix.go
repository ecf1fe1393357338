//go:build unix

package load

import "syscall"

// ownGroup puts a process into its own group, so that signals of the terminal do not
// reach it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
