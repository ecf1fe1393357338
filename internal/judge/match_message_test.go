package judge

import (
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// watching returns a stream of messages that are not process events.
func watching(payloads ...string) *bundle.Exchange {
	x := streamExchange("send")
	x.RPC, x.Events, x.Frames, x.Response.Body = "acme.v1.Forecast/Watch", nil, nil, 0
	c := &clock{n: 50}
	for _, p := range payloads {
		frame(x, c, 0, -1, p)
	}
	frame(x, c, 2, -1, "{}")
	x.EndStream.Frame = len(payloads)
	return x
}

func TestMessagesAreComparedWithTheirDescriptions(t *testing.T) {
	holding := func(n int) scenarios.BodyMatch { return scenarios.BodyMatch{JSONHas: map[string]any{"n": n}} }
	all := func(m ...scenarios.BodyMatch) scenarios.MessagesMatch { return scenarios.MessagesMatch{All: m} }
	some := func(m ...scenarios.BodyMatch) scenarios.MessagesMatch { return scenarios.MessagesMatch{Some: m} }
	cut := func(i int) func(*bundle.Exchange) {
		return func(x *bundle.Exchange) { x.Frames[i].Len += 9 }
	}
	compressed := func(whole bool) func(*bundle.Exchange) {
		return func(x *bundle.Exchange) {
			for i := range x.Frames {
				x.Frames[i].Flags, x.Frames[i].Len, x.Frames[i].Whole = x.Frames[i].Flags|1, 3, whole
			}
		}
	}
	for name, tc := range map[string]struct {
		match   scenarios.MessagesMatch
		change  func(*bundle.Exchange)
		want    bundle.Conclusion
		message string
	}{
		"all in order":    {all(holding(1), holding(2), holding(3)), nil, bundle.Pass, ""},
		"another order":   {all(holding(2), holding(1), holding(3)), nil, bundle.Fail, "message 0: at n: want 2, saw 1"},
		"all of fewer":    {all(holding(1)), nil, bundle.Fail, "messages: want 1, saw 3 (HTTP 200)"},
		"some in order":   {some(holding(1), holding(3)), nil, bundle.Pass, ""},
		"one is not two":  {some(holding(2), holding(2)), nil, bundle.Fail, `messages: want one holding {"n":2} after message 1, saw none (3 messages, HTTP 200)`},
		"the exact bytes": {some(scenarios.BodyMatch{Hex: new(`7b226e223a327d`)}), nil, bundle.Pass, ""},
		"one that was not kept": {
			all(holding(1), holding(2), holding(3)), cut(1), bundle.Inconclusive, "message 1: only a part of the 16 bytes was kept",
		},
		"none among those that were kept": {some(holding(4)), cut(1), bundle.Inconclusive, "message 1: only a part of the 16 bytes was kept"},
		"one beside another not kept":     {some(holding(3)), cut(1), bundle.Pass, ""},
		"compressed and whole":            {all(holding(1), holding(2), holding(3)), compressed(true), bundle.Pass, ""},
		"compressed, and perhaps cut":     {some(holding(1)), compressed(false), bundle.Inconclusive, "message 0: only a part of the 8 bytes was kept"},
		"how many of a cut one":           {scenarios.MessagesMatch{Count: new(3)}, cut(1), bundle.Pass, ""},
	} {
		t.Run(name, func(t *testing.T) {
			x := watching(`{"n":1}`, `{"n":2}`, `{"n":3}`)
			if tc.change != nil {
				tc.change(x)
			}
			v := judgeOne(t, scenarioOf(subjects("send", &scenarios.Match{Messages: &tc.match})), observation(x))
			wantVerdict(t, v, tc.want, tc.message)
		})
	}
}

func TestAMessageUnderWayFitsOnceItCame(t *testing.T) {
	x := watching(`{"n":1}`, `{"n":42}`)
	x.Frames = x.Frames[:2]
	want := &scenarios.BodyMatch{JSONHas: map[string]any{"n": "${p.pid}"}}
	vars := map[string]string{"p.pid": "42"}
	if fits, next := MessageFits(&bundle.Exchange{Shape: x.Shape, RPC: x.RPC, Frames: x.Frames[:1], Response: x.Response}, 0, want, vars); fits || next != 1 {
		t.Errorf("after one message: %v, next %d", fits, next)
	}
	if fits, _ := MessageFits(x, 1, want, vars); !fits {
		t.Error("the second message does not fit")
	}
	if fits, _ := MessageFits(x, 2, want, vars); fits {
		t.Error("a message that was looked at before fits again")
	}
	if got := want.String(); !strings.Contains(got, `holding {"n":"${p.pid}"}`) {
		t.Errorf("described as %s", got)
	}
}
