package account

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"assay/internal/bundle"
	"assay/internal/load"
)

// Failure is why there is no whole response.
type Failure struct {
	Outcome bundle.StreamOutcome
	Detail  string
	// Refused: the other side is no such gateway at all; see load.Result.Refused.
	Refused bool
	// Said: Detail is complete, and the rest of the body adds nothing.
	Said bool
}

// Breach is the failure of a connection that breaks the rules of HTTP.
func Breach(format string, args ...any) *Failure {
	return &Failure{Outcome: bundle.StreamCorrupt, Detail: fmt.Sprintf(format, args...)}
}

// NoHTTP is the failure of a peer that does not speak the version of HTTP.
func NoHTTP(version, detail string) *Failure {
	text := "no HTTP/2: " + detail
	if version == load.HTTP11 {
		text = "the answer is no HTTP/1.1: " + detail
	}
	return &Failure{Outcome: bundle.StreamServerError, Refused: true, Detail: text}
}

// Closed is the failure of a connection that the peer closed before or inside a response.
func Closed(inside bool) *Failure {
	if inside {
		return &Failure{Outcome: bundle.StreamReset, Detail: "the connection was closed inside the answer"}
	}
	return &Failure{Outcome: bundle.StreamReset, Detail: "the connection was closed without an answer"}
}

// Broken is the failure of a connection on which an error occurred while a request was
// sent, or before or inside its response.
func Broken(err error, where string) *Failure {
	return &Failure{Outcome: bundle.StreamReset, Detail: reason(err) + " " + where}
}

// Where a connection broke.
const (
	WhileSending = "while the request was sent"
	BeforeAnswer = "before the answer"
	InsideAnswer = "inside the answer"
)

// ConnectTimeout is the failure of a dial that took too long.
func ConnectTimeout(limit time.Duration) *Failure {
	return &Failure{Outcome: bundle.StreamConnectTimeout, Detail: fmt.Sprintf("no connection within %v", limit)}
}

// Dial is the failure of a dial.
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
	case is(syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS):
		return &Failure{Outcome: bundle.StreamBlocked, Detail: "this machine can open no more connections: " + reason(err)}
	case is(os.ErrDeadlineExceeded, context.DeadlineExceeded, syscall.ETIMEDOUT):
		return ConnectTimeout(limit)
	case is(syscall.ECONNREFUSED, syscall.ECONNRESET):
		return &Failure{Outcome: bundle.StreamReset, Detail: "the connection was refused: " + reason(err)}
	}
	return &Failure{Outcome: bundle.StreamConnectTimeout, Detail: "no connection: " + reason(err)}
}

// reason is the error of the system, which has no addresses in it, so that equal failures
// have equal messages.
func reason(err error) string {
	var sys syscall.Errno
	if errors.As(err, &sys) {
		return sys.Error()
	}
	return err.Error()
}

// The failures of HTTP/2 connections and streams.

// NoSettings is the failure of a connection on which SETTINGS did not come in time.
func NoSettings(limit time.Duration) *Failure {
	return &Failure{Outcome: bundle.StreamAcceptStall, Detail: fmt.Sprintf("the connection was accepted, and no SETTINGS came within %v", limit)}
}

// ClosedH2 is the failure of the streams on an HTTP/2 connection that was closed, before
// SETTINGS came or after.
func ClosedH2(reason string, settled bool) *Failure {
	if !settled {
		return &Failure{Outcome: bundle.StreamReset, Detail: "the connection was closed instead of SETTINGS: does the gateway speak HTTP/2 without TLS?"}
	}
	return &Failure{Outcome: bundle.StreamReset, Detail: "the HTTP/2 connection was closed: " + reason}
}

// ResetStream is the failure of a stream that the peer reset with a code.
func ResetStream(code fmt.Stringer, refused bool) *Failure {
	f := &Failure{Outcome: bundle.StreamReset, Detail: fmt.Sprintf("RST_STREAM with %v", code)}
	if refused {
		f.Outcome = bundle.StreamBlocked
	}
	return f
}

// GoAway is the failure of a stream that a GOAWAY excludes.
func GoAway(code fmt.Stringer, last uint32) *Failure {
	return &Failure{Outcome: bundle.StreamReset, Detail: fmt.Sprintf("GOAWAY with %v, last stream %d", code, last)}
}

// errHungUp ends a stream whose part is to be hung up on. It is never changed.
var errHungUp = &Failure{Outcome: bundle.StreamCancelled}

// errNoTime is the error of a call that was dropped.
var errNoTime = errors.New("no time was left")

func corrupt(detail string) *Failure { return &Failure{Outcome: bundle.StreamCorrupt, Detail: detail} }

func cancelled(format string, args ...any) *Failure {
	return &Failure{Outcome: bundle.StreamCancelled, Detail: fmt.Sprintf(format, args...)}
}

func stalled(format string, args ...any) *Failure {
	return &Failure{Outcome: bundle.StreamStall, Detail: fmt.Sprintf(format, args...)}
}
