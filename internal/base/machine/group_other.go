//go:build !unix

package machine

import (
	"os"
	"syscall"
)

// OwnGroup returns nil: there are no process groups.
func OwnGroup() *syscall.SysProcAttr { return nil }

// SignalGroup kills the process, whatever the signal: there are no process groups and no other signals.
func SignalGroup(leader int, _ syscall.Signal) error {
	p, err := os.FindProcess(leader)
	if err != nil {
		return syscall.ESRCH
	}
	return p.Kill()
}
