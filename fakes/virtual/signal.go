package virtual

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const (
	sigHUP  = syscall.Signal(1)
	sigINT  = syscall.Signal(2)
	sigQUIT = syscall.Signal(3)
	sigKILL = syscall.Signal(9)
	sigPIPE = syscall.Signal(13)
	sigTERM = syscall.Signal(15)
	sigTSTP = syscall.Signal(20)
	sigWNCH = syscall.Signal(28)

	maxSignal = 64
)

// sigset is a set of signals 1 to 64; bit n-1 is signal n.
type sigset uint64

func (s sigset) has(sig syscall.Signal) bool { return sig > 0 && s&(1<<(sig-1)) != 0 }

func (s sigset) with(sig syscall.Signal) sigset { return s | 1<<(sig-1) }

func (s sigset) without(sig syscall.Signal) sigset { return s &^ (1 << (sig - 1)) }

// signalNames returns Linux's signal names on amd64 and arm64 by number, without the prefix SIG. 0 is the shell's pseudo-signal.
func signalNames() []string {
	return []string{
		"EXIT", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
		"STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
	}
}

// parseSignal reads a number or a name, with or without SIG, in any case.
func parseSignal(s string) (syscall.Signal, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return syscall.Signal(n), n >= 0 && n <= maxSignal
	}
	name := strings.TrimPrefix(strings.ToUpper(s), "SIG")
	for n, known := range signalNames() {
		if name == known {
			return syscall.Signal(n), true
		}
	}
	return 0, false
}

// SignalNamed returns the signal with a name such as SIGTERM; 0 is none.
func SignalNamed(name string) syscall.Signal {
	if bare, ok := strings.CutPrefix(name, "SIG"); ok {
		if n := slices.Index(signalNames(), bare); n > 0 {
			return syscall.Signal(n)
		}
	}
	return 0
}

// ignoredByDefault reports signals without effect unless trapped. Stopping is not simulated, so they include the stop signals.
func ignoredByDefault(sig syscall.Signal) bool {
	switch signalName(sig) {
	case "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "WINCH":
		return true
	}
	return false
}

func signalName(sig syscall.Signal) string {
	if names := signalNames(); sig >= 0 && int(sig) < len(names) {
		return names[sig]
	}
	return strconv.Itoa(int(sig))
}

// signalText returns dash's message when a signal ends a foreground child; "" for SIGINT and SIGPIPE.
func signalText(sig syscall.Signal) string {
	switch sig {
	case 0, sigINT, sigPIPE:
		return ""
	case sigHUP:
		return "Hangup"
	case sigKILL:
		return "Killed"
	case syscall.Signal(15):
		return "Terminated"
	case syscall.Signal(10):
		return "User defined signal 1"
	case syscall.Signal(12):
		return "User defined signal 2"
	}
	text := sig.String()
	return strings.ToUpper(text[:1]) + text[1:]
}
