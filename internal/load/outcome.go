package load

import (
	"encoding/json"
	"fmt"
)

// Outcome is how one stream ended. Every stream ends in exactly one.
type Outcome uint8

// The outcomes, in the order of reports.
const (
	// OK: start event, output as expected, one end event, end of stream.
	OK Outcome = iota
	// Killed: the driver killed the process, and the stream then ended as it should.
	Killed
	// ServerError: an HTTP status other than 200, or an RPC error.
	ServerError
	// EOSMissing: the answer was complete, and its end of stream was not in it.
	EOSMissing
	// Reset: the connection or the HTTP/2 stream was cut inside the answer, or refused.
	Reset
	// Stall: nothing came for too long although the connection was alive.
	Stall
	// AcceptStall: the kernel took the connection, and the gateway never sent a byte on it.
	AcceptStall
	// ConnectTimeout: no connection within its deadline.
	ConnectTimeout
	// Corrupt: a line is missing, doubled or changed, or the bytes break the protocol.
	Corrupt
	// Blocked: the stream could not be opened because of a limit: descriptors or
	// ports of this machine, or the gateway's MAX_CONCURRENT_STREAMS.
	Blocked
	// Cancelled: the driver gave the stream up; it says nothing of the gateway.
	Cancelled

	numOutcomes = iota
)

// outcomeNames are the keys of the report.
func outcomeNames() [numOutcomes]string {
	return [numOutcomes]string{
		"ok", "killed", "server_error", "eos_missing", "reset", "stall", "accept_stall",
		"connect_timeout", "corrupt", "blocked", "cancelled",
	}
}

// String is the outcome's key in the report: server_error.
func (o Outcome) String() string {
	if int(o) >= numOutcomes {
		return fmt.Sprintf("outcome(%d)", uint8(o))
	}
	return outcomeNames()[o]
}

// Failed reports whether the outcome is the gateway's failure. Blocked and
// Cancelled are none: they say something of the driver.
func (o Outcome) Failed() bool {
	switch o {
	case OK, Killed, Blocked, Cancelled:
		return false
	default:
		return true
	}
}

// Outcomes counts streams by outcome. As JSON it is an object with all eleven keys.
type Outcomes [numOutcomes]int64

// Failed is the number of streams whose outcome is the gateway's failure.
func (c Outcomes) Failed() int64 {
	var n int64
	for o, count := range c {
		if Outcome(o).Failed() { //nolint:gosec // an index of the array
			n += count
		}
	}
	return n
}

// Total is the number of streams that ended.
func (c Outcomes) Total() int64 {
	var n int64
	for _, count := range c {
		n += count
	}
	return n
}

// MarshalJSON writes the keys in the order of the outcomes.
func (c Outcomes) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for o, name := range outcomeNames() {
		if o > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, "%q:%d", name, c[o])
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes; unknown keys are an error.
func (c *Outcomes) UnmarshalJSON(text []byte) error {
	var m map[string]int64
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("outcomes: %w", err)
	}
	*c = Outcomes{}
	for o, name := range outcomeNames() {
		c[o] = m[name]
		delete(m, name)
	}
	for name := range m {
		return fmt.Errorf("outcomes: there is no outcome %q", name)
	}
	return nil
}
