package envd

import "strings"

// signals maps the names of signals in status texts (those of strsignal on
// Linux in lower case, as Go and the real daemon print them) to their constants.
var signals = map[string]string{
	"hangup":                   "SIGHUP",
	"interrupt":                "SIGINT",
	"quit":                     "SIGQUIT",
	"illegal instruction":      "SIGILL",
	"trace/breakpoint trap":    "SIGTRAP",
	"aborted":                  "SIGABRT",
	"bus error":                "SIGBUS",
	"floating point exception": "SIGFPE",
	"killed":                   "SIGKILL",
	"user defined signal 1":    "SIGUSR1",
	"segmentation fault":       "SIGSEGV",
	"user defined signal 2":    "SIGUSR2",
	"broken pipe":              "SIGPIPE",
	"alarm clock":              "SIGALRM",
	"terminated":               "SIGTERM",
	"stack fault":              "SIGSTKFLT",
	"cpu time limit exceeded":  "SIGXCPU",
	"file size limit exceeded": "SIGXFSZ",
	"virtual timer expired":    "SIGVTALRM",
	"profiling timer expired":  "SIGPROF",
	"i/o possible":             "SIGIO",
	"power failure":            "SIGPWR",
	"bad system call":          "SIGSYS",
}

// SignalOf returns the signal that a status text names, or "": "signal: killed",
// "terminated", "signal: segmentation fault (core dumped)", and the form of Rust's
// ExitStatus, "signal: 9 (SIGKILL)".
func SignalOf(status string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(status, "signal: "), " (core dumped)")
	if s, ok := signals[strings.ToLower(name)]; ok {
		return s
	}
	number, rest, ok := strings.Cut(name, " (SIG")
	if ok && strings.Trim(number, "0123456789") == "" && strings.HasSuffix(rest, ")") {
		return "SIG" + strings.TrimSuffix(rest, ")")
	}
	return ""
}
