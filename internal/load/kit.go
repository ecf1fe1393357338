package load

import (
	"time"

	"assay/internal/wire"
)

// What stands here is for engines that live in packages of their own, so that they
// build the same requests and come to the same verdicts as the portable one.

// RetryPause is how long the closed model waits before it replaces a stream that failed.
const RetryPause = retryPause

// DialsAtOnce bounds the dials that an engine has under way.
const DialsAtOnce = dialsAtOnce

// CallsAtOnce bounds the unary calls that an engine has under way, and CallTimeout each of them.
const (
	CallsAtOnce = callers
	CallTimeout = callTimeout
)

// The connections of HTTP/2: see the portable engine's pool for why so many.
const (
	H2StreamsPerConn = h2Streams
	H2Conns          = h2Wanted
	H2MaxConns       = h2Most
	H2Guess          = h2Guess
)

// ErrGone says that a process is not known (any more). Reply returns it for not_found.
var ErrGone = errGone

// Encoded is a request as it is written. Many streams share one; it is immutable.
type Encoded struct {
	// H1 is head and body of an HTTP/1.1 request.
	H1 []byte
	// Block is the header block of an HTTP/2 request, which refers to no dynamic table,
	// and Body what follows in DATA.
	Block, Body []byte
}

// Encode prepares a request for the connections of the plan.
func (p *Plan) Encode(r Request) (*Encoded, error) {
	e, err := encode(r, p)
	if err != nil {
		return nil, err
	}
	return &Encoded{H1: e.bytes, Block: e.block, Body: e.body}, nil
}

// Multiplexed reports whether streams share connections.
func (p *Plan) Multiplexed() bool { return p.multiplexed() }

// Winding is how long everything may take to be killed.
func (l *Limits) Winding(interrupted bool) time.Duration { return l.winding(interrupted) }

// StreamType reports whether a content type is that of a stream's answer.
func (d *Dialect) StreamType(contentType string) bool { return d.streamType(contentType) }

// Framing is the protocol of the envelopes of an answer.
func (d *Dialect) Framing() wire.Protocol { return d.framing() }

// Answer is a whole answer to a unary call.
type Answer struct {
	Status           int
	Fields, Trailers []wire.Field
	Body             []byte
}

// Reply reads the answer to a unary call: its message, or an error, which is ErrGone
// for not_found.
func (d *Dialect) Reply(a Answer) ([]byte, error) {
	return d.unary(&reply{status: a.Status, fields: a.Fields, body: a.Body, trailers: a.Trailers})
}

// Listed reads the answer to List: the pids that belong to this run.
func (d *Dialect) Listed(message []byte) ([]uint32, error) {
	return d.listed(message)
}

// Refuses reports whether an HTTP status, with the content type of its body, says that
// this is the wrong place, not that the right one is in trouble.
func Refuses(status int, contentType string) bool { return refuses(status, contentType) }

// Sequence is the careful check of numbered lines. An engine that compares by
// faster means hands over to it, at any byte, what it does not expect.
type Sequence struct{ q sequence }

// ResumeSequence is a check in the middle of the output: lines are complete, at bytes
// of the line with the number next have come, and were right.
func ResumeSequence(next, lines uint64, at uint8) *Sequence {
	return &Sequence{sequence{next: next, lines: lines, at: at}}
}

// Write compares p; it returns what was wrong first, "" when nothing was.
func (s *Sequence) Write(p []byte) (wrong string) { return s.q.write(p) }

// Ended says what is missing at the end of the output of a command that ended by itself.
func (s *Sequence) Ended(c Check) (wrong string) { return s.q.ended(c) }

// Lines is how many lines are complete.
func (s *Sequence) Lines() uint64 { return s.q.lines }

// SameOutput compares the outputs of the streams of a run with that of the first one
// that ended. The zero value is ready. It may be used by several goroutines.
type SameOutput struct{ s sameOutput }

// Compare says how an output with this sum and length differs, "" when it does not.
func (s *SameOutput) Compare(sum [32]byte, n, stream int64) (wrong string) {
	return s.s.compare(sum, n, stream)
}

// WatchEvery is how often engines look at the deadlines of streams.
const WatchEvery = 100 * time.Millisecond
