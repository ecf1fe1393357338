package account

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"assay/internal/base/machine"
	"assay/internal/load"
	"assay/internal/record/bundle"
)

// Failure is the reason why a stream or call failed.
type Failure struct {
	Outcome bundle.StreamOutcome
	Detail  string
	// Refused: the peer is not such a gateway at all; see load.Result.Refused.
	Refused bool
}

// Error returns the outcome and its cause.
func (f *Failure) Error() string { return f.Outcome.String() + ": " + f.Detail }

// Breach returns the failure of a connection that breaks the rules of HTTP.
func Breach(format string, args ...any) *Failure {
	return &Failure{Outcome: bundle.StreamCorrupt, Detail: fmt.Sprintf(format, args...)}
}

// NoHTTP returns the failure of a peer that does not speak a version of HTTP.
func NoHTTP(version, detail string) *Failure {
	text := "not HTTP/2: " + detail
	if version == load.HTTP11 {
		text = "the response is not HTTP/1.1: " + detail
	}
	return &Failure{Outcome: bundle.StreamServerError, Refused: true, Detail: text}
}

// Closed returns the failure of a connection that the peer closed, before or during a response.
// cutOff means that it closed the connection without the close_notify of TLS.
func Closed(during, cutOff bool) *Failure {
	f := &Failure{Outcome: bundle.StreamReset, Detail: "the connection was closed without a response"}
	if during {
		f.Detail = "the connection was closed during the response"
	}
	if cutOff {
		f.Detail += ", and without the close_notify of TLS"
	}
	return f
}

// Broken returns the failure of a connection with an error at a time: see WhileSending.
func Broken(err error, when string) *Failure {
	if machine.Exhausted(err) {
		return &Failure{Outcome: bundle.StreamBlocked, Detail: "this machine lacks resources: " + load.Reason(err) + " " + when}
	}
	if f := BrokenTLS(err); f != nil {
		return f
	}
	return &Failure{Outcome: bundle.StreamReset, Detail: load.Reason(err) + " " + when}
}

// The times at which a connection breaks.
const (
	WhileSending = "while the request was sent"
	BeforeAnswer = "before the response"
	InsideAnswer = "during the response"
)

// ConnectTimeout returns the failure of a dial that took too long.
func ConnectTimeout(limit time.Duration) *Failure {
	return &Failure{Outcome: bundle.StreamConnectTimeout, Detail: fmt.Sprintf("no connection within %v", limit)}
}

// Dial returns the failure of a dial.
func Dial(err error, limit time.Duration) *Failure {
	is := func(causes ...error) bool {
		for _, c := range causes {
			if errors.Is(err, c) {
				return true
			}
		}
		return false
	}
	switch {
	case machine.Exhausted(err):
		return &Failure{Outcome: bundle.StreamBlocked, Detail: "this machine cannot open more connections: " + load.Reason(err)}
	case is(os.ErrDeadlineExceeded, context.DeadlineExceeded, syscall.ETIMEDOUT):
		return ConnectTimeout(limit)
	case is(syscall.ECONNREFUSED, syscall.ECONNRESET):
		return &Failure{Outcome: bundle.StreamReset, Detail: "the connection was refused: " + load.Reason(err)}
	}
	return &Failure{Outcome: bundle.StreamConnectTimeout, Detail: "no connection: " + load.Reason(err)}
}

// NoSettings returns the failure of an HTTP/2 connection on which SETTINGS did not come in time.
func NoSettings(limit time.Duration) *Failure {
	return &Failure{Outcome: bundle.StreamAcceptStall, Detail: fmt.Sprintf("the connection was accepted, but no SETTINGS came within %v", limit)}
}

// ClosedH2 returns the failure of the streams on an HTTP/2 connection that was closed.
func ClosedH2(reason string) *Failure {
	return &Failure{Outcome: bundle.StreamReset, Detail: "the HTTP/2 connection was closed: " + reason}
}

// ClosedUnsettled returns the failure of an HTTP/2 connection that was closed before SETTINGS
// came. secure means that it has TLS.
func ClosedUnsettled(secure bool) *Failure {
	f := &Failure{Outcome: bundle.StreamReset, Detail: "the connection was closed instead of SETTINGS"}
	if !secure {
		f.Detail += ": does the gateway speak HTTP/2 without TLS?"
	}
	return f
}

// ResetStream returns the failure of a stream that the peer reset with a code. REFUSED_STREAM
// is one: the drivers keep MAX_CONCURRENT_STREAMS, so the peer refuses what it allows.
func ResetStream(code fmt.Stringer) *Failure {
	return &Failure{Outcome: bundle.StreamReset, Detail: fmt.Sprintf("RST_STREAM with %v", code)}
}

// GoAway returns the failure of a stream that a GOAWAY excludes.
func GoAway(code fmt.Stringer, last uint32) *Failure {
	return &Failure{Outcome: bundle.StreamReset, Detail: fmt.Sprintf("GOAWAY with %v, last stream %d", code, last)}
}

// errHungUp ends a stream that the driver hangs up on, as the plan asks. It is never changed.
var errHungUp = &Failure{Outcome: bundle.StreamCancelled}

// errNoTime is the error of a call that was dropped.
var errNoTime = errors.New("no time was left")

func serverError(detail string) *Failure {
	return &Failure{Outcome: bundle.StreamServerError, Detail: detail}
}

func corrupt(detail string) *Failure { return &Failure{Outcome: bundle.StreamCorrupt, Detail: detail} }

func cancelled(format string, args ...any) *Failure {
	return &Failure{Outcome: bundle.StreamCancelled, Detail: fmt.Sprintf(format, args...)}
}

func stalled(format string, args ...any) *Failure {
	return &Failure{Outcome: bundle.StreamStall, Detail: fmt.Sprintf(format, args...)}
}
