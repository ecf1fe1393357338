package judge

import (
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// socketExchange is a WebSocket with these messages from the gateway: output (o), a ping (i), an
// exit message (x) and other text (t).
func socketExchange(messages string) *bundle.Exchange {
	c := &clock{}
	x := &bundle.Exchange{
		Name: "p", Step: "steps[0]", Op: "start", Surface: "stdio", Shape: bundle.ShapeStdio, Codec: "json",
		Outcome: bundle.OutcomeComplete, Invoked: c.stamp(), Sent: c.ptr(),
		Request: bundle.Request{Method: "GET", Path: "/attach?cmd=x"}, Outputs: map[string]*bundle.Blob{},
	}
	x.Response = &bundle.Response{Proto: "HTTP/1.1", Status: 101, Framing: "upgrade", Head: c.stamp()}
	for _, m := range messages {
		switch m {
		case 'o':
			data(x, c, "stdout", "hello\n")
			x.Frames[len(x.Frames)-1].Flags = 0x82
		case 'x':
			event(x, c, bundle.Event{Kind: bundle.EventEnd, Exit: &bundle.Exit{Code: 3}})
			x.Frames[len(x.Frames)-1].Flags = 0x81
		case 'i':
			frame(x, c, 0x89, -1, "ping!")
		case 't':
			frame(x, c, 0x81, -1, `{"type":"error"}`)
		}
		x.Frames[len(x.Frames)-1].Whole = true
	}
	x.Closing = &bundle.Closing{At: c.stamp(), Code: 1000}
	x.Response.Ended, x.Returned = c.ptr(), c.ptr()
	return x
}

func TestStandingChecksOfAWebSocket(t *testing.T) {
	for name, c := range map[string]struct {
		messages string
		change   func(x *bundle.Exchange)
		once     bundle.Conclusion
		last     bundle.Conclusion
		close    bundle.Conclusion
	}{
		"a normal end":                {"oox", nil, "pass", "pass", "pass"},
		"a ping behind the exit":      {"oxi", nil, "pass", "pass", "pass"},
		"two exits":                   {"oxx", nil, "fail", "pass", "pass"},
		"no exit":                     {"oo", nil, "fail", "", ""},
		"output behind the exit":      {"xo", nil, "pass", "fail", "pass"},
		"another message behind it":   {"oxt", nil, "pass", "fail", "pass"},
		"an abnormal end":             {"oo", closedWith(1011), "", "", ""},
		"we closed":                   {"oo", func(x *bundle.Exchange) { x.Closing.Answer = true }, "", "", ""},
		"an answer to our close":      {"ox", func(x *bundle.Exchange) { x.Closing.Answer, x.Closing.Code = true, 1001 }, "pass", "pass", ""},
		"a close without a code":      {"ox", closedWith(1005), "pass", "pass", "fail"},
		"another code":                {"ox", closedWith(1011), "pass", "pass", "fail"},
		"no close frame":              {"ox", cutOff(bundle.OutcomeClosed), "pass", "pass", "fail"},
		"a reset":                     {"ox", cutOff(bundle.OutcomeReset), "pass", "pass", "fail"},
		"no end":                      {"ox", cutOff(bundle.OutcomeStalled), "pass", "pass", ""},
		"the script went before":      {"ox", cutOff(bundle.OutcomeAborted), "pass", "pass", ""},
		"the handshake was refused":   {"", func(x *bundle.Exchange) { x.Response.Status, x.Closing = 400, nil }, "", "", ""},
		"the connection ended midway": {"o", cutOff(bundle.OutcomeClosed), "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for check, want := range map[string]bundle.Conclusion{"stdio-exit-once": c.once, "stdio-exit-last": c.last, "stdio-close": c.close} {
				x := socketExchange(c.messages)
				if c.change != nil {
					c.change(x)
				}
				wantStanding(t, check, observation(x), want)
			}
		})
	}
}

func closedWith(code int) func(*bundle.Exchange) {
	return func(x *bundle.Exchange) { x.Closing.Code = code }
}

func cutOff(o bundle.Outcome) func(*bundle.Exchange) {
	return func(x *bundle.Exchange) { x.Closing, x.Outcome = nil, o }
}

func TestMatchesOfAWebSocket(t *testing.T) {
	for name, c := range map[string]struct {
		match  scenarios.Match
		change func(x *bundle.Exchange)
		broken string // a part of the message; "" if it fits
	}{
		"a frame came":                  {scenarios.Match{WS: []scenarios.WSMatch{{Type: "ping", Text: new("ping!")}}}, nil, ""},
		"by its bytes":                  {scenarios.Match{WS: []scenarios.WSMatch{{Type: "ping", Hex: new("70696E6721")}}}, nil, ""},
		"of another payload":            {scenarios.Match{WS: []scenarios.WSMatch{{Type: "ping", Text: new("pong!")}}}, nil, `want a frame ping "pong!", saw binary, ping, text`},
		"of another type":               {scenarios.Match{WS: []scenarios.WSMatch{{Type: "pong"}}}, nil, "want a frame pong"},
		"none came, as wanted":          {scenarios.Match{WSNever: []scenarios.WSMatch{{Type: "pong"}}}, nil, ""},
		"one came that must not":        {scenarios.Match{WSNever: []scenarios.WSMatch{{Type: "ping"}}}, nil, "want no frame ping"},
		"a close":                       {scenarios.Match{Close: []int{1000}}, nil, ""},
		"one of several":                {scenarios.Match{Close: []int{1000, 1001}}, nil, ""},
		"another close":                 {scenarios.Match{Close: []int{1002}}, nil, "close code: want 1002, saw 1000"},
		"no close frame":                {scenarios.Match{Close: []int{1000}}, cutOff(bundle.OutcomeClosed), "without a close frame"},
		"no close frame, as wanted":     {scenarios.Match{Close: []int{1006}}, cutOff(bundle.OutcomeReset), ""},
		"open":                          {scenarios.Match{Close: []int{1006}}, cutOff(bundle.OutcomeStalled), "an open WebSocket"},
		"no WebSocket":                  {scenarios.Match{Close: []int{1000}}, func(x *bundle.Exchange) { x.Response.Status = 400 }, "no WebSocket (HTTP 400"},
		"the code of the exit":          {scenarios.Match{End: &scenarios.EndMatch{Code: []int{3}}}, nil, ""},
		"success is a complete session": {scenarios.Match{OK: new(true)}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			x := socketExchange("oix")
			if c.change != nil {
				c.change(x)
			}
			s := &scene{it: &observation(x).Iterations[0]}
			c.match.Outcome = []string{string(x.Outcome)}
			f := match(&look{scene: s, m: &c.match, x: x})
			if (f.grade == violated) != (c.broken != "") || !strings.Contains(f.message, c.broken) {
				t.Errorf("grade %v: %s", f.grade, f.message)
			}
		})
	}
}

func TestParityOfAWebSocketHasNoStart(t *testing.T) {
	rpc := streamExchange("a")
	event(rpc, &clock{n: 90}, bundle.Event{Kind: bundle.EventKeepAlive})
	socket := socketExchange("ox")
	rpc.Events[2].Exit.Code = 3
	s := &scene{it: &observation(rpc, socket).Iterations[0]}
	if f := s.parity([]string{"a", "p"}); !f.ok() {
		t.Errorf("equal: %s", f.message)
	}
	socket.Events[1].Exit.Code = 4
	if f := s.parity([]string{"a", "p"}); f.ok() || !strings.Contains(f.message, "exit code differs") {
		t.Errorf("another code: %s", f.message)
	}
}

// The surface that answers nothing breaks other rules: nothing was compared.
func TestParityWithoutAnAnswerIsNotJudged(t *testing.T) {
	t.Parallel()
	for _, outcome := range []bundle.Outcome{bundle.OutcomeClosed, bundle.OutcomeReset, bundle.OutcomeNoAnswer} {
		rpc, socket := streamExchange("a"), socketExchange("ox")
		socket.Response, socket.Events, socket.Outcome = nil, nil, outcome
		s := &scene{it: &observation(rpc, socket).Iterations[0]}
		if f := s.parity([]string{"a", "p"}); f.grade != inconclusive || !strings.Contains(f.message, "not judged: parity: p got ") {
			t.Errorf("%s: grade %v: %s", outcome, f.grade, f.message)
		}
	}
}

func TestParityWithAnExchangeThatAssayGaveUpIsOnlySuspected(t *testing.T) {
	rpc, socket := streamExchange("a"), socketExchange("ox")
	rpc.Events = rpc.Events[:2] // no end
	for _, outcome := range []bundle.Outcome{bundle.OutcomeStalled, bundle.OutcomeComplete} {
		rpc.Outcome = outcome
		s := &scene{it: &observation(rpc, socket).Iterations[0]}
		if f := s.parity([]string{"a", "p"}); f.grade != violated || f.vain != (outcome == bundle.OutcomeStalled) {
			t.Errorf("%s: grade %v, suspected %v: %s", outcome, f.grade, f.vain, f.message)
		}
	}
}

func TestAnInstantOfAnExchangeThatAssayGaveUpIsOnlySuspected(t *testing.T) {
	x := streamExchange("a")
	x.Events, x.Outcome = x.Events[:2], bundle.OutcomeStalled
	s := &scene{it: &observation(x).Iterations[0]}
	if f := s.sequence([]string{"a.start", "a.end"}); f.grade != violated || !f.vain {
		t.Errorf("grade %v, suspected %v: %s", f.grade, f.vain, f.message)
	}
}
