package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v4"
)

// An assay.yaml that nobody named may have come with a repository that was checked out. It
// can therefore say how to test, but not run a command, write a file, send a file, open a
// port, or choose whom to trust or to send a token to (the bundle of --rerun names a URL): it
// sets only these flags. Nor can it say what a terminal is attached to: the command, the sandbox and the
// session of attach. A header can name the sandbox to which a proxy sends the run and its token.
var safeFlags = []string{
	"abort-delay", "abort-on-fail", "axis", "budget", "ci", "clock-scale", "codec", "command", "confidence", "count", "deadline", "destructive", "disconnect-share",
	"domain", "dry-run", "duration", "endpoint", "engine", "expect", "fault", "fail-on-change", "faults", "format", "full", "full-handshakes", "held", "http", "inject", "jobs", "keep", "kill-share", "level",
	"latency-threshold", "licenses", "like", "limit", "loops", "lost-worker", "matrix", "memory", "metrics-prefix", "out-limit", "over", "poisson", "prefix", "profiles", "protocol", "pty", "quiet", "ramp", "rate", "rebuild", "repeat",
	"reproduce", "role", "sandboxes", "seed", "select", "set", "shard", "shell", "slow", "streams", "strict", "submission", "template", "threshold", "time-scale", "tls", "token-scheme", "user", "variant",
	"verbose", "wait", "warmup", "window", "without", "workers",
}

// safeFiles are flags that it sets only to a path in the working directory, since errors
// quote the files that are read.
var safeFiles = []string{"canned", "known", "plan", "profile", "scenarios", "selftest", "vendor"}

// safe refuses a value of a file that nobody named.
func (f configFile) safe(flag string, value yaml.Node) error {
	switch {
	case f.named || slices.Contains(safeFlags, flag):
		return nil
	case !slices.Contains(safeFiles, flag):
		return fmt.Errorf("%s:%d: %s is used only from a file that --config names, because this one may come with a repository", f.path, value.Line, flag)
	case !filepath.IsLocal(value.Value):
		return fmt.Errorf("%s:%d: %s is used only with a path in this folder, unless --config names this file", f.path, value.Line, flag)
	}
	return nil
}
