//go:build unix

package machine

import "syscall"

// Pause stops all processes of the group that a process leads, until Continue.
func Pause(leader int) error { return SignalGroup(leader, syscall.SIGSTOP) }

// Continue lets a stopped group go on.
func Continue(leader int) error { return SignalGroup(leader, syscall.SIGCONT) }

// CanPause reports whether this system can stop processes.
const CanPause = true
