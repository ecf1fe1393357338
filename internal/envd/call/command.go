package call

import "strconv"

// Mark is the environment variable that every process of ours carries. Its value says
// which run and scenario started the process.
const Mark = "ASSAY_RUN"

// NoOp returns a shell command that does nothing and carries the mark: the NDJSON alias
// takes no environment, so a command begins with it.
func NoOp(mark string) string { return ": " + Mark + "=" + mark }

// Command is the body of POST /commands, which starts a process over the NDJSON alias.
type Command struct {
	Cmd       string `json:"cmd"`
	TimeoutMS *int64 `json:"timeout_ms,omitempty"`
}

// JSON returns the body.
func (c Command) JSON() ([]byte, error) { return Marshal(c) }

// KillPath returns the path below /commands whose POST kills a process.
func KillPath(pid int64) string { return strconv.FormatInt(pid, 10) + "/kill" }
