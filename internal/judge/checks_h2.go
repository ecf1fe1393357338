package judge

import (
	"fmt"
	"strings"

	"assay/internal/record/bundle"
)

// noError is the code of RST_STREAM and GOAWAY without an error.
const noError = "NO_ERROR"

// checkH2AnswerEnded: a response over HTTP/2 ends with END_STREAM. RST_STREAM with NO_ERROR may
// only follow a complete response, to stop the request body; instead of END_STREAM it leaves open
// whether the response is complete. A reset with an error is a legal way to fail.
func checkH2AnswerEnded(e *exam) finding {
	c := e.conn(e.x.Conn)
	if !overH2(c) || e.x.Response == nil || e.x.Aborted {
		return notApplied
	}
	reset := e.x.Outcome == bundle.OutcomeReset && received(c, func(f *bundle.H2Frame) bool {
		return f.Type == "RST_STREAM" && f.Stream == e.x.Stream && f.Detail == noError
	})
	switch {
	case reset:
		return e.fails(-1, "want END_STREAM at the end of the response, saw RST_STREAM (%s)", noError)
	case e.x.Outcome == bundle.OutcomeComplete:
		return finding{}
	}
	return notApplied
}

// checkGoAwayFinishes: a server that sends GOAWAY with NO_ERROR finishes the streams up to the
// last stream in it. If it closes the connection before, their clients cannot know how far the
// requests were processed.
func checkGoAwayFinishes(e *exam) finding {
	c := e.conn(e.x.Conn)
	if !overH2(c) || e.x.Stream == 0 || e.brokenOffByUs() {
		return notApplied
	}
	promised := received(c, func(f *bundle.H2Frame) bool {
		var last uint32
		n, err := fmt.Sscanf(f.Detail, "last stream %d, "+noError, &last)
		return f.Type == "GOAWAY" && err == nil && n == 1 && e.x.Stream <= last
	})
	if !promised {
		return notApplied
	}
	if byPeer(c) && (e.x.Outcome == bundle.OutcomeClosed || e.x.Outcome == bundle.OutcomeReset) {
		return e.fails(-1, "want stream %d, which the GOAWAY covers, to run to its end, saw the connection closed before", e.x.Stream)
	}
	return finding{}
}

func overH2(c *bundle.Conn) bool { return c != nil && strings.HasPrefix(c.HTTP, "h2") }

// received reports whether the peer sent a frame for which like is true.
func received(c *bundle.Conn, like func(*bundle.H2Frame) bool) bool {
	for i := range c.H2 {
		if c.H2[i].Dir == "received" && like(&c.H2[i]) {
			return true
		}
	}
	return false
}
