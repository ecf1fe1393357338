package judge

import (
	"strings"
	"testing"

	"assay/internal/envd"
	"assay/internal/record/bundle"
	"assay/internal/wire"
	"assay/scenarios"
)

// TestStandingRules has, for every check and kind of violation, a response that passes, one that
// breaks the rule, and one to which the rule does not apply.
func TestStandingRules(t *testing.T) {
	stream := func() *bundle.Exchange { return streamExchange("send") }
	unary := func() *bundle.Exchange { return unaryExchange("send") }
	failed := func() *bundle.Exchange { return withError(unaryExchange("send"), 404, "not_found", "") }
	lines := func() *bundle.Exchange { return ndjsonExchange("send") }
	cells := func() *bundle.Exchange { return executeExchange("send") }
	kind := func(at int, k bundle.EventKind) func(*bundle.Exchange) {
		return func(x *bundle.Exchange) { x.Events[at].Kind = k }
	}
	status := func(s int) func(*bundle.Exchange) { return func(x *bundle.Exchange) { x.Response.Status = s } }
	both := func(fs ...func(*bundle.Exchange)) func(*bundle.Exchange) {
		return func(x *bundle.Exchange) {
			for _, f := range fs {
				f(x)
			}
		}
	}
	outcome := func(o bundle.Outcome) func(*bundle.Exchange) { return func(x *bundle.Exchange) { x.Outcome = o } }
	grpc := func(x *bundle.Exchange) { x.Request.Headers = headers("Content-Type", "application/grpc-web+proto") }

	cases := []standingCase{
		{"check:http-trailers", stream, func(x *bundle.Exchange) { x.Response.Trailers = headers("Grpc-Status", "0") },
			`want no HTTP trailers, saw "Grpc-Status": "0"`, grpc},
		{"check:stream-status", stream, status(500),
			"want HTTP 200 for a stream of type application/connect+json, saw 500", both(status(400), answerType("text/plain"))},
		{"check:stream-content-type", stream, answerType("application/connect+proto"),
			"content type: want application/connect+json, as in the request, saw application/connect+proto", status(415)},
		{"check:end-stream-once", stream, func(x *bundle.Exchange) { x.Frames, x.EndStream = x.Frames[:3], nil },
			"want an end-of-stream as the last frame, saw the body end without one (3 frames, 82 bytes)",
			both(func(x *bundle.Exchange) { x.Frames, x.EndStream = x.Frames[:3], nil }, outcome(bundle.OutcomeStalled))},
		{"check:end-stream-once", stream, func(x *bundle.Exchange) { x.Frames = append(x.Frames, x.Frames[3]) },
			"want exactly one end-of-stream, saw 2 (the second: frame 4, body offset 75)", status(404)},
		{"check:end-stream-once", stream, func(x *bundle.Exchange) { x.Frames = append(x.Frames, x.Frames[0]) },
			"want nothing after the end-of-stream, saw 1 frame more (frame 4, body offset 0)", status(404)},
		{"check:end-stream-once", stream, both(func(x *bundle.Exchange) { x.Frames = x.Frames[:2] }, outcome(bundle.OutcomeReset)),
			"want an end-of-stream as the last frame, saw the body end without one (2 frames, 82 bytes)",
			both(func(x *bundle.Exchange) { x.Frames, x.Aborted = x.Frames[:2], true }, outcome(bundle.OutcomeReset))},
		{"check:unary-status-by-code", failed, status(200), "error not_found: want HTTP 404, saw 200",
			func(x *bundle.Exchange) { x.Error = nil }},
		{"check:unary-error-content-type", failed, answerType("application/proto"),
			"content type of an error: want application/json, saw application/proto", both(answerType("text/plain"), func(x *bundle.Exchange) { x.Error = nil })},
		{"check:unary-content-type", unary, answerType("text/html"),
			"content type: want application/json, as in the request, saw text/html", both(status(404), answerType("text/html"))},
		{"check:unary-content-type", unary, answerType("text/html"),
			"content type: want application/json, as in the request, saw text/html",
			both(func(x *bundle.Exchange) { x.RPC = "process.Process/NoSuchMethod" }, answerType("text/html"))},
		{"check:content-encoding", unary, func(x *bundle.Exchange) { x.Body = new(bundle.NewBlob([]byte{0x1f, 0x8b, 8, 0}, nil)) },
			"want Content-Encoding for a compressed body, saw none", outcome(bundle.OutcomeStalled)},
		{"check:reserved-headers", unary, func(x *bundle.Exchange) { x.Response.Headers = headers("Connect-Secret", "1") },
			`want no header with a reserved name, saw "Connect-Secret": "1"`, grpc},
		{"check:method-allow", func() *bundle.Exchange {
			x := unary()
			x.Response.Status, x.Response.Headers = 405, headers("Allow", "POST")
			return x
		},
			func(x *bundle.Exchange) { x.Response.Headers = nil }, `HTTP 405 to "POST": want an Allow header, saw none`, status(404)},
		{"check:start-first", stream, func(x *bundle.Exchange) { x.Events[0].Kind = bundle.EventKeepAlive },
			"want start as the first event, saw keepalive (frame 0, body offset 0)", func(x *bundle.Exchange) { x.Events = nil }},
		{"check:end-last", stream, func(x *bundle.Exchange) { x.Events = append(x.Events, x.Events[1]) },
			"want end as the last event, saw data after it (frame 1, body offset 25)", answerType("text/plain")},
		{"check:end-last", stream, func(x *bundle.Exchange) { x.Events = x.Events[:2] },
			"want one end event in a stream that ends without an error, saw none (HTTP 200, events start data)",
			both(func(x *bundle.Exchange) { x.Events, x.EndStream = x.Events[:2], nil }, outcome(bundle.OutcomeReset))},
		{"check:execute-count-first", cells, kind(0, bundle.EventData), "want the number of executions first, saw data before it (line 0, body offset 0)", status(404)},
		{"check:execute-count-first", cells, kind(1, bundle.EventCount), "want the number of executions once, saw it twice (line 1, body offset 25)", status(500)},
		{"check:execute-end-last", cells, kind(1, bundle.EventEnd), "want end_of_execution as the last line, saw end after it (line 2, body offset 50)", status(404)},
		{"check:execute-end-last", cells, func(x *bundle.Exchange) { x.Events = x.Events[:2] }, "want end_of_execution as the last line, saw none (HTTP 200, events count data)",
			both(func(x *bundle.Exchange) { x.Events = x.Events[:2] }, outcome(bundle.OutcomeReset))},
		{string(envd.CellError), cells, violation(wire.Kind(envd.CellError), "event"), "what it was (execute.error, body offset 7)", status(404)},
		{"check:ndjson-type-and-end", lines, func(x *bundle.Exchange) { x.Events = x.Events[:2] },
			"want end as the last line, saw HTTP 200, events start data", status(400)},
		{"check:ndjson-type-and-end", lines, answerType("text/html"), "content type: want an NDJSON type, saw text/html", status(400)},
		{"check:conn-reusable-after-error", failed, func(x *bundle.Exchange) { x.Violations = []bundle.Violation{{Kind: string(wire.HTTPExtra)}} },
			"connection after error not_found: want no more bytes on it, saw extra bytes after the response",
			func(x *bundle.Exchange) { x.Response.Headers = headers("Connection", "keep-alive, close") }},
		{"check:stream-status", stream, rpcErrorOverHTTP(404),
			`want HTTP 200 and an end-of-stream message with the error, saw HTTP 404 of type application/json: "{\"code\":\"not_found\"}"`,
			both(status(404), answerType("text/plain"))},
		{string(wire.ReservedFlags), stream, violation(wire.ReservedFlags, "frame"),
			"what it was (envelope.reserved-flags, body offset 7)", both(violation(wire.ReservedFlags, "frame"), status(400), answerType("text/plain"))},
		{string(wire.TruncatedPayload), stream, both(violation(wire.TruncatedPayload, "frame"), outcome(bundle.OutcomeReset)),
			"what it was (envelope.truncated-payload, body offset 7)", answerType("text/plain")},
		{string(wire.EndStreamJSON), stream, violation(wire.EndStreamJSON, "frame"),
			"what it was (end-stream.json, body offset 7)", func(x *bundle.Exchange) { x.EndStream = nil }},
		{string(wire.ErrorCode), failed, violation(wire.ErrorCode, "body"),
			"what it was (error.code, body offset 7)", both(violation(wire.ErrorCode, "body"), status(405))},
		{string(wire.LineUTF8), lines, violation(wire.LineUTF8, "frame"), "what it was (ndjson.utf-8, body offset 7)", status(404)},
		{string(wire.HTTPChunk), stream, violation(wire.HTTPChunk, "http"),
			"what it was (http.chunk, connection offset 7)", both(outcome(bundle.OutcomeNoConnect), func(x *bundle.Exchange) { x.Response = nil })},
		{string(wire.HTTPTruncated), stream, both(violation(wire.HTTPTruncated, "http"), outcome(bundle.OutcomeClosed)),
			"what it was (http.truncated, connection offset 7)",
			both(both(violation(wire.HTTPTruncated, "http"), outcome(bundle.OutcomeClosed)), func(x *bundle.Exchange) { x.Sandbox = "made" })},
		{string(envd.EventBase64), stream, violation(wire.Kind(envd.EventBase64), "event"),
			"what it was (event.base64, body offset 7)", func(x *bundle.Exchange) { x.Events = nil }},
	}
	for _, c := range cases {
		t.Run(c.entry, c.run)
	}
}

func violation(kind wire.Kind, in string) func(*bundle.Exchange) {
	return func(x *bundle.Exchange) {
		x.Violations = []bundle.Violation{{Kind: string(kind), In: in, Off: 7, Detail: "what it was"}}
	}
}

func answerType(s string) func(*bundle.Exchange) {
	return func(x *bundle.Exchange) { x.Response.Headers = headers("Content-Type", s) }
}

// rpcErrorOverHTTP turns the response to a stream into a unary error.
func rpcErrorOverHTTP(code int) func(*bundle.Exchange) {
	return func(x *bundle.Exchange) {
		x.Response.Status, x.Response.Headers = code, headers("Content-Type", "application/json")
		x.Events, x.Frames, x.EndStream = nil, nil, nil
		x.Body = new(bundle.NewBlob([]byte(`{"code":"not_found"}`), nil))
	}
}

// A token check, a version check, a router or a proxy may respond to a stream with an HTTP error.
func TestWhatStandsBeforeTheRPCLayerMayAnswerAStreamByHTTP(t *testing.T) {
	for name, tc := range map[string]struct {
		status  int
		change  func(*bundle.Exchange)
		applies bool
	}{
		"an error of the RPC":      {500, nil, true},
		"a bad request of the RPC": {400, nil, true},
		"a bad protocol version": {400, func(x *bundle.Exchange) {
			x.Request.Headers = append(x.Request.Headers[:1:1], bundle.Header{Name: "connect-protocol-version", Value: "2"})
		}, false},
		"a bad token":               {401, nil, false},
		"a token without the right": {403, nil, false},
		"an unknown content type":   {415, nil, false},
		"an error of the RPC about a codec that nobody knows": {400, func(x *bundle.Exchange) {
			x.Request.Headers = headers("Content-Type", "application/connect+assay", "Connect-Protocol-Version", "1")
		}, false},
		"a page of a proxy":           {502, func(x *bundle.Exchange) { x.Response.Headers = headers("Content-Type", "text/html") }, false},
		"a request that was not POST": {405, func(x *bundle.Exchange) { x.Request.Method = "GET" }, false},
		"a request of raw bytes":      {400, func(x *bundle.Exchange) { x.Op = "raw" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			x := streamExchange("send")
			x.Request.Headers = append(x.Request.Headers, bundle.Header{Name: "Connect-Protocol-Version", Value: "1"})
			rpcErrorOverHTTP(tc.status)(x)
			if tc.change != nil {
				tc.change(x)
			}
			if vs := standingOf("check:stream-status", x); (len(vs) == 1) != tc.applies || tc.applies && vs[0].Symptom != bundle.SymptomStreamStatus {
				t.Errorf("got %+v", vs)
			}
		})
	}
}

// standingCase is a response to which an entry applies, a change that breaks the rule, and a
// change after which the entry does not apply (nil for none).
type standingCase struct {
	entry   string
	x       func() *bundle.Exchange
	breaks  func(*bundle.Exchange)
	message string
	foreign func(*bundle.Exchange)
}

func (c standingCase) run(t *testing.T) {
	good := c.x()
	wantOne(t, standingRule, standingOf(c.entry, good), bundle.Pass, "")
	bad := c.x()
	c.breaks(bad)
	wantOne(t, standingRule, standingOf(c.entry, bad), bundle.Fail, c.message)
	if c.foreign == nil {
		return
	}
	foreign := c.x()
	c.foreign(foreign)
	if vs := standingOf(c.entry, foreign); len(vs) != 0 {
		t.Errorf("it applies to a response that it is not about: %+v", vs)
	}
}

// standingOf judges one exchange by one standing rule, in a scenario that names no rule.
func standingOf(entry string, x *bundle.Exchange) []bundle.Verdict {
	return (&Judge{Rules: ruled(entry)}).Scenario(scenarioWithoutRules(), testRun(), observation(x))
}

func TestWhatWeCutIsNotTheTargetsFault(t *testing.T) {
	kinds := []wire.Kind{wire.TruncatedHeader, wire.TruncatedPayload, wire.HTTPTruncated}
	ways := map[string]func(*bundle.Observation){
		"by the script":         func(o *bundle.Observation) { o.Iterations[0].Exchanges[0].Aborted = true },
		"by the clean-up":       func(o *bundle.Observation) { o.Iterations[0].Exchanges[0].Outcome = bundle.OutcomeAborted },
		"by a deadline":         func(o *bundle.Observation) { o.Iterations[0].Exchanges[0].Outcome = bundle.OutcomeStalled },
		"our side closed first": func(o *bundle.Observation) { o.Iterations[0].Conns[0].Ended = &bundle.ConnEnd{By: "us", How: "half"} },
		"by an interrupt":       func(o *bundle.Observation) { o.Interrupted = true },
		"a request of clean-up": func(o *bundle.Observation) { o.Iterations[0].Exchanges[0].Op = "cleanup" },
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			for _, kind := range kinds {
				x := streamExchange("send")
				x.Outcome, x.Violations = bundle.OutcomeClosed, []bundle.Violation{{Kind: string(kind)}}
				o := observation(x)
				way(o)
				for _, v := range (&Judge{Rules: ruled(string(kind))}).Scenario(scenarioWithoutRules(), testRun(), o) {
					if v.Conclusion == bundle.Fail {
						t.Errorf("%s: %s", kind, v.Message)
					}
				}
			}
		})
	}
}

func TestAStandingRuleThatAScenarioNamesHasOneVerdict(t *testing.T) {
	j := &Judge{Rules: &scenarios.Catalogue{Rules: []*scenarios.Rule{
		{ID: testRule, Level: "must", Standing: []string{"check:end-stream-once"}},
	}}}
	s := scenarioOf(subjects("send", &scenarios.Match{Start: new(true)}))
	x := streamExchange("send")
	wantOne(t, testRule, j.Scenario(s, testRun(), observation(x)), bundle.Pass, "")
	x.Frames = x.Frames[:3]
	wantOne(t, testRule, j.Scenario(s, testRun(), observation(x)), bundle.Fail, "want an end-of-stream as the last frame, saw the body end without one (3 frames, 82 bytes)")
}

func TestExpositionsAreAStandingMatter(t *testing.T) {
	j := &Judge{Rules: ruled("check:metrics-exposition")}
	o := observation()
	o.Scrapes = []bundle.Scrape{scrape("before", 1, 1, 1, 0, 0, 0)}
	wantOne(t, standingRule, j.Scenario(scenarioWithoutRules(), testRun(), o), bundle.Pass, "")
	o.Scrapes[0].Body = []byte("a 1\na 2\n")
	wantOne(t, standingRule, j.Scenario(scenarioWithoutRules(), testRun(), o), bundle.Fail, "scrape before: line 2: duplicate series a, first in line 1")
}

func TestEveryStandingEntryOfTheCatalogueIsKnown(t *testing.T) {
	cat, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range cat.Rules {
		for _, entry := range r.Standing {
			name, check := strings.CutPrefix(entry, "check:")
			if check && checks()[name] == nil && name != checkExposition && name != checkAtRest && name != checkMonotone {
				t.Errorf("rule %s: the judge does not know %q", r.ID, entry)
			}
		}
	}
}
