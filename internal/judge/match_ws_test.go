package judge

import (
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// attached returns a WebSocket with these frames from the gateway: text and binary messages,
// and a ping between them.
func attached(texts ...string) *bundle.Exchange {
	x := &bundle.Exchange{
		Name: "p", Op: "start", Surface: "stdio", Shape: bundle.ShapeStdio, Outcome: bundle.OutcomeComplete,
		Request:  bundle.Request{Method: "GET", Path: "/attach?cmd=sh&arg=-c&arg=read+x&arg=ASSAY_RUN%3Drun%2Fs%2F0%2Fp"},
		Response: &bundle.Response{Status: 101},
	}
	for _, text := range texts {
		x.Frames = append(x.Frames,
			bundle.Frame{Flags: 0x89, Len: 1, Head: []byte("x"), Whole: true},
			bundle.Frame{Flags: 0x81, Len: int64(len(text)), Head: []byte(text), Whole: true})
	}
	return x
}

func TestMessagesOfAWebSocketAreComparedWithTheirDescriptions(t *testing.T) {
	opened := scenarios.BodyMatch{JSONHas: map[string]any{"type": "opened"}}
	fragmented := attached()
	fragmented.Frames = []bundle.Frame{
		{Flags: 0x01, Len: 4}, {Flags: 0x80, Len: 13, Head: []byte(`{"type":"opened"}`), Whole: true},
	}
	long := attached(`{"type":"opened"}`)
	long.Frames[1].Whole = false
	for name, tc := range map[string]struct {
		x       *bundle.Exchange
		match   scenarios.MessagesMatch
		want    bundle.Conclusion
		message string
	}{
		"with members that nobody named": {attached(`{"type":"opened","pane":"left"}`), scenarios.MessagesMatch{Some: []scenarios.BodyMatch{opened}}, bundle.Pass, ""},
		"control frames are no messages": {attached("{}", "{}"), scenarios.MessagesMatch{Count: new(2)}, bundle.Pass, ""},
		"another type":                   {attached(`{"type":"closed"}`), scenarios.MessagesMatch{Some: []scenarios.BodyMatch{opened}}, bundle.Fail, ""},
		"in fragments":                   {fragmented, scenarios.MessagesMatch{All: []scenarios.BodyMatch{opened}}, bundle.Pass, ""},
		"kept in part":                   {long, scenarios.MessagesMatch{Some: []scenarios.BodyMatch{opened}}, bundle.Inconclusive, "p: message 0: only a part of the 18 bytes was kept"},
	} {
		t.Run(name, func(t *testing.T) {
			v := judgeOne(t, scenarioOf(subjects("p", &scenarios.Match{Messages: &tc.match})), observation(tc.x))
			if v.Conclusion != tc.want || tc.message != "" {
				wantVerdict(t, v, tc.want, tc.message)
			}
		})
	}
}

// A frame of a WebSocket is recorded with its head, before its payload.
func TestAMessageOfAWebSocketFitsOnceItsPayloadCame(t *testing.T) {
	x, want := attached(`{}`, `{"type":"opened"}`), &scenarios.BodyMatch{JSONHas: map[string]any{"type": "opened"}}
	late := x.Frames[3]
	x.Frames[3].Head, x.Frames[3].Whole = nil, false
	fits, next := MessageFits(x, 0, want, nil)
	if fits || next != 3 {
		t.Errorf("before the payload: %v, next %d, want 3", fits, next)
	}
	x.Frames[3] = late
	if fits, next := MessageFits(x, next, want, nil); !fits || next != 4 {
		t.Errorf("after the payload: %v, next %d, want 4", fits, next)
	}
}

// A gateway that does not list the process of a WebSocket never tells its pid: the mark decides.
func TestTheProcessOfAWebSocketIsFoundInAListByItsMark(t *testing.T) {
	entry := func(arg string) string {
		return `{"processes":[{"pid":7,"config":{"cmd":"sh","args":["-c","read x","` + arg + `"]}}]}`
	}
	refused := attached()
	refused.Response.Status = 404
	ended := attached()
	ended.Events = []bundle.Event{{Kind: bundle.EventEnd, Exit: &bundle.Exit{}, At: bundle.Stamp{T: 1, N: 1}}}
	for name, tc := range map[string]struct {
		x     *bundle.Exchange
		body  string
		lists bool
		want  bundle.Conclusion
	}{
		"listed":                  {attached(), entry("ASSAY_RUN=run/s/0/p"), true, bundle.Pass},
		"listed in a wrapper":     {attached(), entry("nice sh -c 'read x' 'ASSAY_RUN=run/s/0/p'"), true, bundle.Pass},
		"absent":                  {attached(), `{"processes":[]}`, true, bundle.Fail},
		"that of another start":   {attached(), entry("ASSAY_RUN=run/s/0/p2"), true, bundle.Fail},
		"it had ended":            {ended, `{}`, true, bundle.Inconclusive},
		"the handshake failed":    {refused, `{}`, true, bundle.Inconclusive},
		"gone":                    {attached(), `{"processes":[]}`, false, bundle.Pass},
		"still there after it":    {attached(), entry("ASSAY_RUN=run/s/0/p"), false, bundle.Fail},
		"another one still there": {attached(), entry("ASSAY_RUN=run/s/1/p"), false, bundle.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			list := unaryExchange("list")
			body := bundle.NewBlob([]byte(tc.body), nil)
			list.RPC, list.Body = "process.Process/List", &body
			m := &scenarios.Match{Lists: []string{"p"}}
			if !tc.lists {
				m = &scenarios.Match{NotLists: []string{"p"}}
			}
			o := observation(tc.x, list)
			o.Iterations[0].Processes, o.Iterations[0].Vars = nil, nil // the surface tells no pid
			v := judgeOne(t, scenarioOf(subjects("list", m)), o)
			if v.Conclusion != tc.want {
				t.Errorf("saw %s %q, want %s", v.Conclusion, v.Message, tc.want)
			}
		})
	}
}
