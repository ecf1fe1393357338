package bundle

import (
	"encoding/json"
	"fmt"
	"iter"
)

// StreamOutcome is how one stream ended. Every stream ends in exactly one.
type StreamOutcome uint8

// The outcomes, in the order of reports.
const (
	// StreamOK: start event, output as expected, one end event, end of stream.
	StreamOK StreamOutcome = iota
	// StreamKilled: the driver killed the process, and the stream then ended as it should.
	StreamKilled
	// StreamServerError: an HTTP status other than 200, or an RPC error.
	StreamServerError
	// StreamEOSMissing: the response was complete, without an end of stream.
	StreamEOSMissing
	// StreamReset: the connection or the HTTP/2 stream ended inside the response, or was refused.
	StreamReset
	// StreamStall: no bytes arrived for too long, although the connection was alive.
	StreamStall
	// StreamAcceptStall: the kernel accepted the connection, but the gateway never sent a byte on it.
	StreamAcceptStall
	// StreamConnectTimeout: no connection within its deadline.
	StreamConnectTimeout
	// StreamCorrupt: a line is missing, doubled or changed, or the bytes break the protocol.
	StreamCorrupt
	// StreamBlocked: the stream could not be opened because of a limit: descriptors or
	// ports of this machine, or the gateway's MAX_CONCURRENT_STREAMS.
	StreamBlocked
	// StreamCancelled: the driver gave up the stream through no fault of the gateway.
	StreamCancelled

	numStreamOutcomes = iota
)

// streamOutcomeNames are the keys of the report.
func streamOutcomeNames() [numStreamOutcomes]string {
	return [numStreamOutcomes]string{
		"ok", "killed", "server_error", "eos_missing", "reset", "stall", "accept_stall",
		"connect_timeout", "corrupt", "blocked", "cancelled",
	}
}

// String is the outcome's key in the report: server_error.
func (o StreamOutcome) String() string {
	if int(o) >= numStreamOutcomes {
		return fmt.Sprintf("outcome(%d)", uint8(o))
	}
	return streamOutcomeNames()[o]
}

// Failed reports whether the outcome is the gateway's failure. Blocked and cancelled
// streams are not: the driver ended them.
func (o StreamOutcome) Failed() bool {
	switch o {
	case StreamOK, StreamKilled, StreamBlocked, StreamCancelled:
		return false
	default:
		return true
	}
}

// StreamOutcomes counts streams by outcome. As JSON it is an object with all eleven keys.
type StreamOutcomes [numStreamOutcomes]int64

// Failed is the number of streams whose outcome is the gateway's failure.
func (c StreamOutcomes) Failed() int64 {
	var n int64
	for o, count := range c.All() {
		if o.Failed() {
			n += count
		}
	}
	return n
}

// Total is the number of streams that ended.
func (c StreamOutcomes) Total() int64 {
	var n int64
	for _, count := range c {
		n += count
	}
	return n
}

// Add adds the difference of two counts.
func (c *StreamOutcomes) Add(now, last StreamOutcomes) {
	for o := range c {
		c[o] += now[o] - last[o]
	}
}

// All yields the outcomes with their counts, in the order of reports.
func (c StreamOutcomes) All() iter.Seq2[StreamOutcome, int64] {
	return func(yield func(StreamOutcome, int64) bool) {
		for o, n := range c {
			if !yield(StreamOutcome(o), n) { //nolint:gosec // an index of the array
				return
			}
		}
	}
}

// MarshalJSON writes the keys in the order of the outcomes.
func (c StreamOutcomes) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for o, name := range streamOutcomeNames() {
		if o > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, "%q:%d", name, c[o])
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes; unknown keys are an error.
func (c *StreamOutcomes) UnmarshalJSON(text []byte) error {
	var m map[string]int64
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("outcomes: %w", err)
	}
	*c = StreamOutcomes{}
	for o, name := range streamOutcomeNames() {
		c[o] = m[name]
		delete(m, name)
	}
	for name := range m {
		return fmt.Errorf("outcomes: there is no outcome %q", name)
	}
	return nil
}
