package attach

import (
	"assay/internal/envd"
)

// codeOfSignal is the exit code of a shell whose command died of signal 0.
const codeOfSignal = 128

// shellCode returns a legal exit code of a process: 255 stands for what is none.
func shellCode(code int) int {
	if code < 0 || code > 255 {
		return 255
	}
	return code
}

// numbers are the signals that commands die of, as on Linux: a gateway's processes run there,
// whatever this machine is.
var numbers = map[string]int{
	"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8, "SIGKILL": 9,
	"SIGUSR1": 10, "SIGSEGV": 11, "SIGUSR2": 12, "SIGPIPE": 13, "SIGALRM": 14, "SIGTERM": 15, "SIGSTKFLT": 16, "SIGXCPU": 24,
	"SIGXFSZ": 25, "SIGVTALRM": 26, "SIGPROF": 27, "SIGIO": 29, "SIGPWR": 30, "SIGSYS": 31,
}

// codeOfEnd returns the exit code of an end event of process.Process: 128+n for a process that died
// of signal n, as a shell has it.
func codeOfEnd(code int, exited bool, status string) int {
	if !exited {
		if n, ok := numbers[envd.SignalOf(status)]; ok {
			return codeOfSignal + n
		}
	}
	return shellCode(code)
}
