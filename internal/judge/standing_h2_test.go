package judge

import (
	"testing"

	"assay/internal/record/bundle"
)

// Streams and connections that the peer ends too early, or legally.
func TestWhatEndsAStreamOfHTTP2(t *testing.T) {
	frame := func(kind string, stream uint32, detail string) bundle.H2Frame {
		return bundle.H2Frame{Dir: "received", Type: kind, Stream: stream, Detail: detail}
	}
	byPeer, byUs := &bundle.ConnEnd{By: "peer", How: "fin"}, &bundle.ConnEnd{By: "us", How: "fin"}
	for name, c := range map[string]struct {
		check   string
		frames  []bundle.H2Frame
		outcome bundle.Outcome
		ended   *bundle.ConnEnd
		aborted bool
		want    bundle.Conclusion // "" for no verdict
	}{
		"a response is complete": {"h2-answer-ended", nil, bundle.OutcomeComplete, byUs, false, "pass"},
		"a reset without an error replaces the end": {"h2-answer-ended",
			[]bundle.H2Frame{frame("RST_STREAM", 3, "NO_ERROR")}, bundle.OutcomeReset, byUs, false, "fail"},
		"a reset with an error is legal": {"h2-answer-ended",
			[]bundle.H2Frame{frame("RST_STREAM", 3, "CANCEL")}, bundle.OutcomeReset, nil, false, ""},
		"another stream was reset": {"h2-answer-ended",
			[]bundle.H2Frame{frame("RST_STREAM", 5, "NO_ERROR")}, bundle.OutcomeReset, nil, false, ""},
		"a reset after Assay aborted": {"h2-answer-ended",
			[]bundle.H2Frame{frame("RST_STREAM", 3, "NO_ERROR")}, bundle.OutcomeReset, nil, true, ""},
		"a stream that GOAWAY covers is cut": {"goaway-finishes",
			[]bundle.H2Frame{frame("GOAWAY", 0, "last stream 3, NO_ERROR")}, bundle.OutcomeClosed, byPeer, false, "fail"},
		"a stream that GOAWAY covers goes on to its end": {"goaway-finishes",
			[]bundle.H2Frame{frame("GOAWAY", 0, "last stream 3, NO_ERROR")}, bundle.OutcomeComplete, byPeer, false, "pass"},
		"a stream that GOAWAY refuses": {"goaway-finishes",
			[]bundle.H2Frame{frame("GOAWAY", 0, "last stream 1, NO_ERROR")}, bundle.OutcomeClosed, byPeer, false, ""},
		"GOAWAY with an error": {"goaway-finishes",
			[]bundle.H2Frame{frame("GOAWAY", 0, "last stream 3, PROTOCOL_ERROR")}, bundle.OutcomeClosed, byPeer, false, ""},
		"we closed after GOAWAY": {"goaway-finishes",
			[]bundle.H2Frame{frame("GOAWAY", 0, "last stream 3, NO_ERROR")}, bundle.OutcomeClosed, byUs, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			x := grpcExchange("send")
			x.Stream, x.Outcome, x.Aborted = 3, c.outcome, c.aborted
			o := observation(x)
			o.Iterations[0].Conns[0] = bundle.Conn{HTTP: "h2c", H2: c.frames, Ended: c.ended}
			wantStanding(t, c.check, o, c.want)
		})
	}
}
