package call

import "strconv"

// Mark is the environment variable that every process of ours carries. Its value names
// the run and the scenario that started the process.
const Mark = "ASSAY_RUN"

// NoOp returns a shell command that does nothing and carries the mark. Commands of the
// NDJSON alias begin with it, because the alias has no field for the environment.
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
