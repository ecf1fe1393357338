//go:build unix

package machine

import "syscall"

// OwnGroup returns the attributes of a process that leads its own group, so that signals of the terminal
// do not reach it.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// SignalGroup sends a signal to all processes of the group that a process leads.
func SignalGroup(leader int, sig syscall.Signal) error { return syscall.Kill(-leader, sig) }
