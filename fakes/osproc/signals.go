package osproc

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// maxSignal is the highest signal number.
const maxSignal = 64

// lastPlain is the last signal that is not a real-time one.
const lastPlain = 31

// restoreSignals makes sure that no child ignores a signal because this program does: exec keeps what is ignored and resets what is caught.
// Signals that are ignored now, and more, are caught from here on and dropped.
func (s *System) restoreSignals(more []syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := syscall.Signal(1); n <= lastPlain; n++ {
		if signal.Ignored(n) {
			more = append(more, n)
		}
	}
	for _, sig := range more {
		if _, done := s.catching[sig]; !done || signal.Ignored(sig) {
			s.catching[sig] = struct{}{}
			signal.Notify(s.caught, sig)
		}
	}
}

// inheritedIgnores are the signals that this program was started with as ignored, of which the Go runtime does not know all.
// Nothing where the system has no /proc.
func inheritedIgnores() []syscall.Signal {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil
	}
	_, rest, ok := strings.Cut(string(text), "\nSigIgn:")
	if !ok {
		return nil
	}
	line, _, _ := strings.Cut(rest, "\n")
	set, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	if err != nil {
		return nil
	}
	var list []syscall.Signal
	for n := syscall.Signal(1); n <= lastPlain; n++ {
		if set&(1<<(n-1)) != 0 {
			list = append(list, n)
		}
	}
	return list
}
