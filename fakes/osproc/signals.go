//go:build unix

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

// lastPlain is the last signal that is not a real-time signal.
const lastPlain = 31

// restoreSignals prevents children from inheriting ignored signals: exec keeps ignored signals and resets caught ones. From now on the program
// catches and drops the ignored signals, and those in more.
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

// inheritedIgnores returns the signals that this program inherited as ignored, not all of which the Go runtime knows. Empty without /proc.
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
