package judge

import (
	"fmt"
	"strings"

	"assay/internal/bundle"
)

// noError is the code of RST_STREAM and GOAWAY that speaks of no error.
const noError = "NO_ERROR"

// checkH2AnswerEnded: an answer over HTTP/2 ends with END_STREAM. A reset without an error is
// for requests that need not go on, behind a complete answer; in its place it leaves open
// whether anything is missing. A reset that names an error is an answer.
func checkH2AnswerEnded(e *exam) applied {
	c := e.conn(e.x.Conn)
	if !overH2(c) || e.x.Response == nil || e.x.Aborted {
		return notApplied()
	}
	reset := e.x.Outcome == bundle.OutcomeReset && received(c, func(f *bundle.H2Frame) bool {
		return f.Type == "RST_STREAM" && f.Stream == e.x.Stream && f.Detail == noError
	})
	switch {
	case reset:
		return breaks(-1, "want END_STREAM at the end of the answer, saw RST_STREAM (%s)", noError)
	case e.x.Outcome == bundle.OutcomeComplete:
		return holds()
	}
	return notApplied()
}

// checkGoAwayFinishes: a server that says GOAWAY without an error goes on with the streams up
// to the last one that it names. One that closes the connection under them has promised to
// process requests, and their clients cannot know how far it came.
func checkGoAwayFinishes(e *exam) applied {
	c := e.conn(e.x.Conn)
	if !overH2(c) || e.x.Stream == 0 || e.brokenOffByUs() {
		return notApplied()
	}
	promised := received(c, func(f *bundle.H2Frame) bool {
		var last uint32
		n, err := fmt.Sscanf(f.Detail, "last stream %d, "+noError, &last)
		return f.Type == "GOAWAY" && err == nil && n == 1 && e.x.Stream <= last
	})
	if !promised {
		return notApplied()
	}
	if c.Ended != nil && c.Ended.By == "peer" && (e.x.Outcome == bundle.OutcomeClosed || e.x.Outcome == bundle.OutcomeReset) {
		return breaks(-1, "want stream %d to go on to its end after GOAWAY, which covers it, saw the connection closed under it", e.x.Stream)
	}
	return holds()
}

func overH2(c *bundle.Conn) bool { return c != nil && strings.HasPrefix(c.HTTP, "h2") }

// received reports whether a frame like that came from the peer.
func received(c *bundle.Conn, like func(*bundle.H2Frame) bool) bool {
	for i := range c.H2 {
		if c.H2[i].Dir == "received" && like(&c.H2[i]) {
			return true
		}
	}
	return false
}
