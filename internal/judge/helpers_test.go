package judge

import (
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// clock returns stamps one millisecond apart, numbered like the steps of a run.
type clock struct{ n int64 }

func (c *clock) stamp() bundle.Stamp {
	c.n++
	return bundle.Stamp{T: c.n * 1e6, N: c.n}
}

func (c *clock) ptr() *bundle.Stamp {
	s := c.stamp()
	return &s
}

// compared is the record of an output with its first difference from the expected one.
func compared(got, want string) *bundle.Blob {
	b := bundle.NewBlob([]byte(got), nil)
	b.Diff = bundle.FirstDifference([]byte(got), []byte(want))
	return &b
}

func headers(pairs ...string) []bundle.Header {
	var hs []bundle.Header
	for i := 0; i+1 < len(pairs); i += 2 {
		hs = append(hs, bundle.Header{Name: pairs[i], Value: pairs[i+1]})
	}
	return hs
}

// streamExchange is a healthy Start: start, one data event, end, end of stream.
func streamExchange(name string) *bundle.Exchange {
	c := &clock{}
	x := &bundle.Exchange{
		Name: name, Step: "steps[0]", Op: "start", RPC: "process.Process/Start", Surface: "process",
		Shape: bundle.ShapeStream, Codec: "json", Outcome: bundle.OutcomeComplete,
		Invoked: c.stamp(), Sent: c.ptr(),
		Request: bundle.Request{Method: "POST", Headers: headers("Content-Type", "application/connect+json")},
		Outputs: map[string]*bundle.Blob{},
	}
	x.Response = &bundle.Response{
		Proto: "HTTP/1.1", Status: 200, Framing: "chunked", Head: c.stamp(),
		Headers: headers("Content-Type", "application/connect+json; charset=utf-8"),
	}
	event(x, c, bundle.Event{Kind: bundle.EventStart, PID: 42})
	data(x, c, "stdout", "hello\n")
	event(x, c, bundle.Event{Kind: bundle.EventEnd, Exit: &bundle.Exit{Exited: true, Status: "exit status 0"}})
	frame(x, c, 2, -1, "{}")
	x.EndStream = &bundle.EndStream{At: x.Frames[3].At, Frame: 3}
	x.Response.Ended, x.Returned = c.ptr(), c.ptr()
	return x
}

func frame(x *bundle.Exchange, c *clock, flags byte, event int, payload string) {
	x.Frames = append(x.Frames, bundle.Frame{
		Flags: flags, Off: x.Response.Body, Len: int64(len(payload)), At: c.stamp(), Event: event, Head: []byte(payload),
	})
	x.Response.Body += int64(len(payload)) + 5
}

func event(x *bundle.Exchange, c *clock, e bundle.Event) {
	frame(x, c, 0, len(x.Events), "twenty bytes of JSON")
	e.Frame, e.At = len(x.Frames)-1, x.Frames[len(x.Frames)-1].At
	x.Events = append(x.Events, e)
}

func data(x *bundle.Exchange, c *clock, stream, text string) {
	b := x.Outputs[stream]
	if b == nil {
		b = &bundle.Blob{}
		x.Outputs[stream] = b
	}
	event(x, c, bundle.Event{Kind: bundle.EventData, Stream: stream, Off: b.Len, Len: len(text)})
	*b = bundle.NewBlob(append(b.Data, text...), nil)
}

// unaryExchange is a healthy unary call.
func unaryExchange(name string) *bundle.Exchange {
	c := &clock{n: 100}
	body := bundle.NewBlob([]byte("{}"), nil)
	return &bundle.Exchange{
		ID: 1, Name: name, Step: "steps[1]", Op: "signal", RPC: "process.Process/SendSignal", Surface: "process",
		Shape: bundle.ShapeUnary, Codec: "json", Outcome: bundle.OutcomeComplete,
		Invoked: c.stamp(), Sent: c.ptr(),
		Request: bundle.Request{Method: "POST", Headers: headers("Content-Type", "application/json")},
		Response: &bundle.Response{
			Proto: "HTTP/1.1", Status: 200, Framing: "length", Head: c.stamp(), Ended: c.ptr(), Body: 2,
			Headers: headers("Content-Type", "application/json"),
		},
		Body: &body, Returned: c.ptr(),
	}
}

func withError(x *bundle.Exchange, status int, code, message string) *bundle.Exchange {
	x.Error = &bundle.RPCError{Code: code, Message: message}
	x.Response.Status = status
	return x
}

// ndjsonExchange is a healthy POST /commands.
func ndjsonExchange(name string) *bundle.Exchange {
	x := streamExchange(name)
	x.ID, x.RPC, x.Surface, x.Shape, x.EndStream = 2, "", "commands", bundle.ShapeNDJSON, nil
	x.Frames = x.Frames[:3]
	x.Request.Headers = headers("Content-Type", "application/json")
	x.Response.Headers = headers("Content-Type", "application/x-ndjson")
	x.Events[2].Exit = &bundle.Exit{}
	return x
}

// executeExchange is a run of the code interpreter with output.
func executeExchange(name string) *bundle.Exchange {
	x := ndjsonExchange(name)
	x.Surface, x.Shape, x.Response.Headers = "execute", bundle.ShapeExecute, nil
	x.Events[0].Kind, x.Events[0].PID, x.Events[2].Exit = bundle.EventCount, 0, nil
	return x
}

func observation(xs ...*bundle.Exchange) *bundle.Observation {
	it := bundle.Iteration{Vars: map[string]string{"p.pid": "42"}}
	for i, x := range xs {
		x.ID, x.Conn = i, i
		it.Exchanges = append(it.Exchanges, *x)
		it.Conns = append(it.Conns, bundle.Conn{ID: i, Name: x.Name})
	}
	it.Processes = []bundle.Process{{Name: "p", PID: 42}}
	return &bundle.Observation{
		Schema: bundle.ObservationSchema, Run: "r1", Scenario: "area.one",
		Axes:       bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "1.1", Compression: "identity"},
		Iterations: []bundle.Iteration{it}, Ended: bundle.Stamp{T: 5e9, N: 999},
	}
}

func testRun() *bundle.Run {
	return &bundle.Run{
		ID: "r1", Tool: bundle.Tool{Name: "assay"}, Target: bundle.Target{URL: "http://127.0.0.1:8081"}, Seed: 7,
		Calibration: bundle.Calibration{RTT: 1e6, Spawn: 3e6, TimeScale: 1},
	}
}

func parsed(t *testing.T, text string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Parse("one.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const testRule = "area.topic.rule"

// scenarioOf is a scenario with one rule and one clause.
func scenarioOf(c scenarios.Clause) *scenarios.Scenario {
	return &scenarios.Scenario{ID: "area.one", Rules: []string{testRule}, Expect: []scenarios.Clause{c}}
}

func subjects(name string, m *scenarios.Match) scenarios.Clause {
	return scenarios.Clause{Subjects: map[string]*scenarios.Match{name: m}}
}

// judgeOne judges a scenario that has one rule, without a catalogue.
func judgeOne(t *testing.T, s *scenarios.Scenario, o *bundle.Observation) bundle.Verdict {
	t.Helper()
	vs := (&Judge{}).Scenario(s, testRun(), o)
	if len(vs) != 1 || vs[0].Rule != testRule {
		t.Fatalf("want one verdict of %s, got %+v", testRule, vs)
	}
	return vs[0]
}

func wantVerdict(t *testing.T, v bundle.Verdict, conclusion bundle.Conclusion, message string) {
	t.Helper()
	if v.Conclusion != conclusion || v.Message != message {
		t.Errorf("got  %s: %s\nwant %s: %s", v.Conclusion, v.Message, conclusion, message)
	}
}

// wantOne checks the only verdict of a run.
func wantOne(t *testing.T, rule string, vs []bundle.Verdict, conclusion bundle.Conclusion, message string) {
	t.Helper()
	if len(vs) != 1 || vs[0].Rule != rule {
		t.Fatalf("got %+v, want one verdict of %s", vs, rule)
	}
	wantVerdict(t, vs[0], conclusion, message)
}

const standingRule = "a.standing.rule"

// ruled is a catalogue with one standing rule.
func ruled(entry string) *scenarios.Catalogue {
	return &scenarios.Catalogue{Rules: []*scenarios.Rule{{ID: standingRule, Level: "must", Standing: []string{entry}}}}
}

// wantStanding judges an observation by a check alone; want is "" for no verdict.
func wantStanding(t *testing.T, check string, o *bundle.Observation, want bundle.Conclusion) {
	t.Helper()
	vs := (&Judge{Rules: ruled("check:" + check)}).Scenario(scenarioWithoutRules(), testRun(), o)
	if want == "" && len(vs) > 0 || want != "" && (len(vs) != 1 || vs[0].Conclusion != want) {
		t.Errorf("%s: got %+v, want %q", check, vs, want)
	}
}

func scenarioWithoutRules() *scenarios.Scenario { return &scenarios.Scenario{ID: "area.one"} }
