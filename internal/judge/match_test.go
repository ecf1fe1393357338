package judge

import (
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// TestMatch has, for every field of a matcher, a response that passes and one that fails, with
// the message that a gateway's author reads.
func TestMatch(t *testing.T) {
	text := func(s string) *scenarios.OutputMatch {
		return &scenarios.OutputMatch{Bytes: scenarios.Bytes{Text: &s}}
	}
	long := strings.Repeat("0123456789abcde\n", 5000) // 80,000 bytes
	stream := func() *bundle.Exchange { return streamExchange("send") }
	unary := func() *bundle.Exchange { return unaryExchange("send") }
	lines := func() *bundle.Exchange { return ndjsonExchange("send") }
	failed := func(status int, code, message string) func() *bundle.Exchange {
		return func() *bundle.Exchange { return withError(unaryExchange("send"), status, code, message) }
	}
	of := func(x func() *bundle.Exchange, change func(*bundle.Exchange)) func() *bundle.Exchange {
		return func() *bundle.Exchange { x := x(); change(x); return x }
	}
	body := func(text string) func(*bundle.Exchange) {
		return func(x *bundle.Exchange) { x.Body = new(bundle.NewBlob([]byte(text), nil)) }
	}
	output := func(stream, text string) func(*bundle.Exchange) {
		return func(x *bundle.Exchange) { x.Outputs[stream] = new(bundle.NewBlob([]byte(text), nil)) }
	}
	for _, c := range []matchCase{
		{"ok on a stream wants an end-of-stream", scenarios.Match{OK: new(true)},
			stream, func(x *bundle.Exchange) { x.EndStream = nil },
			"want success, saw a stream without end-of-stream (4 frames)", ""},
		{"ok wants no error", scenarios.Match{OK: new(true)},
			stream, func(x *bundle.Exchange) { withError(x, 200, "internal", "boom") },
			`want success, saw HTTP 200, error internal "boom", events start data end, ended with code 0`, ""},
		{"ok on the alias wants an end", scenarios.Match{OK: new(true)}, lines, func(x *bundle.Exchange) { x.Events = x.Events[:2] },
			"want success, saw lines without an end event (3 lines)", ""},
		{"not ok wants an error", scenarios.Match{OK: new(false)},
			failed(404, "not_found", ""), func(x *bundle.Exchange) { x.Error, x.Response.Status = nil, 200 },
			"want an error, saw HTTP 200", ""},
		{"outcome is a legal set", scenarios.Match{Outcome: []string{"complete", "closed"}},
			stream, func(x *bundle.Exchange) { x.Outcome = bundle.OutcomeStalled },
			"want outcome complete or closed, saw a response that had not ended by the deadline (after 4 frames)", "complete"},
		{"a response must be complete by default", scenarios.Match{Start: new(true)},
			stream, func(x *bundle.Exchange) { x.Outcome, x.Detail = bundle.OutcomeReset, "connection reset by peer" },
			"want a complete response, saw the connection reset before the response was complete (after 4 frames): connection reset by peer", ""},
		{"status is a legal set", scenarios.Match{Status: []int{200, 204}},
			stream, func(x *bundle.Exchange) { x.Response.Status = 500; x.Events = nil },
			"want HTTP 200 or 204, saw HTTP 500", "HTTP 200"},
		{"a header has its value", scenarios.Match{Headers: map[string]*string{"X-A": new("1")}},
			of(stream, func(x *bundle.Exchange) { x.Response.Headers = headers("x-a", "1") }), func(x *bundle.Exchange) { x.Response.Headers[0].Value = "2" },
			`header X-A: want "1", saw "2"`, ""},
		{"a header is absent", scenarios.Match{Headers: map[string]*string{"X-A": nil}},
			stream, func(x *bundle.Exchange) { x.Response.Headers = headers("X-A", "2") }, `header X-A: want none, saw "2"`, ""},
		{"a header is present", scenarios.Match{Headers: map[string]*string{"content-type": new("*")}},
			stream, func(x *bundle.Exchange) { x.Response.Headers = nil }, "header content-type: want any value, saw none", ""},
		{"an error has one of the codes", scenarios.Match{Error: &scenarios.ErrorMatch{Code: []string{"not_found", "internal"}}},
			failed(404, "not_found", "no process 9"), func(x *bundle.Exchange) { withError(x, 500, "unknown", "") },
			"want error not_found or internal, saw HTTP 500, error unknown", "not_found"},
		{"any error has a code of the 16", scenarios.Match{Error: &scenarios.ErrorMatch{Code: []string{"*"}}},
			failed(404, "not_found", ""), func(x *bundle.Exchange) { x.Error.Code = "NotFound" },
			`want any error, saw the code "NotFound", which is not one of the 16`, "not_found"},
		{"an error message holds a part", scenarios.Match{Error: &scenarios.ErrorMatch{Message: "gzip"}},
			failed(501, "unimplemented", "only gzip"), func(x *bundle.Exchange) { x.Error.Message = "no" },
			`error message: want it to contain "gzip", saw HTTP 501, error unimplemented "no"`, "unimplemented"},
		{"a start event comes first", scenarios.Match{Start: new(true)}, stream, func(x *bundle.Exchange) { x.Events = x.Events[1:] },
			"start event: want it first, saw data (frame 1, body offset 25)", ""},
		{"no start event", scenarios.Match{Start: new(false)},
			of(stream, func(x *bundle.Exchange) { x.Events = nil }), func(x *bundle.Exchange) { x.Events = streamExchange("").Events },
			"start event: want none, saw pid 42 (frame 0, body offset 0)", ""},
		{"the exit code", scenarios.Match{End: &scenarios.EndMatch{Code: []int{3}}},
			of(stream, func(x *bundle.Exchange) { x.Events[2].Exit.Code = 3 }), func(x *bundle.Exchange) { x.Events[2].Exit.Code = 0 },
			"exit code: want 3, saw 0 (end event, frame 2, body offset 50)", ""},
		{"the signal", scenarios.Match{End: &scenarios.EndMatch{Signal: []string{"SIGKILL"}}}, of(stream, func(x *bundle.Exchange) {
			x.Events[2].Exit = &bundle.Exit{Code: -1, Status: "signal: killed", Signal: "SIGKILL"}
		}), func(x *bundle.Exchange) {
			x.Events[2].Exit.Status, x.Events[2].Exit.Signal = "signal: terminated", "SIGTERM"
		}, `signal: want SIGKILL, saw SIGTERM, status "signal: terminated" (end event, frame 2, body offset 50)`, ""},
		{"a signal implies a code that is not 0", scenarios.Match{End: &scenarios.EndMatch{Signal: []string{"SIGKILL"}}},
			of(lines, func(x *bundle.Exchange) { x.Events[2].Exit.Code = -1 }), func(x *bundle.Exchange) { x.Events[2].Exit.Code = 0 },
			"exit code: want any but 0 (ended by SIGKILL), saw 0 (end event, line 2, body offset 50)", ""},
		{"exited", scenarios.Match{End: &scenarios.EndMatch{Exited: new(true)}},
			stream, func(x *bundle.Exchange) { x.Events[2].Exit.Exited = false },
			"exited: want true, saw false (end event, frame 2, body offset 50)", ""},
		{"the error text", scenarios.Match{End: &scenarios.EndMatch{Error: new(false)}},
			stream, func(x *bundle.Exchange) { x.Events[2].Exit.Error = new("exit status 1") },
			`error text: want none, saw "exit status 1" (end event, frame 2, body offset 50)`, ""},
		{"the status", scenarios.Match{End: &scenarios.EndMatch{Status: "exit status 0"}},
			stream, func(x *bundle.Exchange) { x.Events[2].Exit.Status = "" },
			`status: want "exit status 0", saw "" (end event, frame 2, body offset 50)`, ""},
		{"an end event at all", scenarios.Match{End: &scenarios.EndMatch{Code: []int{0}}},
			stream, func(x *bundle.Exchange) { x.Events = x.Events[:2] },
			"end event: want exit code 0, saw none (HTTP 200, events start data)", ""},
		{"ends once", scenarios.Match{Ends: "once"}, stream, func(x *bundle.Exchange) { x.Events = append(x.Events, x.Events[2]) },
			"end events: want exactly one, saw 2 (the second: frame 2, body offset 50)", ""},
		{"ends never", scenarios.Match{Ends: "never"},
			of(stream, func(x *bundle.Exchange) { x.Events = x.Events[:2] }), func(x *bundle.Exchange) { x.Events = streamExchange("").Events },
			"end events: want none, saw 1 (the first: frame 2, body offset 50)", ""},
		{"ends at most once", scenarios.Match{Ends: "at-most-once"},
			stream, func(x *bundle.Exchange) { x.Events = append(x.Events, x.Events[2]) },
			"end events: want at most one, saw 2 (the second: frame 2, body offset 50)", ""},
		{"a pattern of events", scenarios.Match{Events: "start data* end"},
			stream, func(x *bundle.Exchange) { x.Events = append(x.Events, x.Events[1], x.Events[1]) },
			`events: want "start data* end", saw "start data end data×2"`, ""},
		{"what must never come", scenarios.Match{Never: []scenarios.EventMatch{{Event: "stderr"}}},
			stream, func(x *bundle.Exchange) { x.Events[1].Stream = "stderr" },
			"stderr event: want none, saw one (frame 1, body offset 25)", ""},
		{"a short output", scenarios.Match{Stdout: text("hello\n")}, stream, output("stdout", "help"),
			`stdout differs at byte 3: want "lo\n", saw "p" (body offset 25)`, ""},
		{"an output that must be empty", scenarios.Match{Stderr: text("")}, stream, output("stderr", "oops"),
			`stderr differs at byte 0: want the end, saw "oops"`, ""},
		{"a long output by digest, and the window around the difference", scenarios.Match{Stdout: text(long)}, of(stream, func(x *bundle.Exchange) { x.Outputs["stdout"] = compared(long, long) }), func(x *bundle.Exchange) {
			x.Outputs["stdout"] = compared(long[:65536], long)
		},
			`stdout differs at byte 65536: want "0123456789abcde\n0123456789abcde\n0123456789abcde\n0123456789ab"…, saw the end`, ""},
		{"a long output without a window", scenarios.Match{Stdout: text(long)},
			of(stream, output("stdout", long)), output("stdout", long[:65536]),
			`stdout: want 80000 bytes, saw 65536 (it ends in "89abcde\n0123456789abcde\n", want "89abcde\n0123456789abcde\n")`, ""},
		{"a length", scenarios.Match{Stdout: &scenarios.OutputMatch{Length: new(int64(6))}},
			stream, func(x *bundle.Exchange) { x.Outputs = nil }, "stdout: want 6 bytes, saw 0", ""},
		{"a digest", scenarios.Match{Stdout: &scenarios.OutputMatch{Digest: digest([]byte("hello\n"))}},
			stream, func(x *bundle.Exchange) { x.Outputs = nil },
			"stdout: want SHA-256 " + digest([]byte("hello\n")) + ", saw " + digest(nil) + " (0 bytes)", ""},
		{"a prefix", scenarios.Match{Stdout: &scenarios.OutputMatch{PrefixOf: &scenarios.Bytes{Text: new("hello\nworld\n")}}},
			stream, output("stdout", "hellx"), `stdout differs at byte 4: want "o", saw "x" (body offset 25)`, ""},
		{"a suffix", scenarios.Match{Stdout: &scenarios.OutputMatch{SuffixOf: &scenarios.Bytes{Text: new("say hello\n")}}},
			stream, output("stdout", "they say hello\n"), `stdout: want a suffix of "say hello\n", saw 5 bytes more`, ""},
		{"a part", scenarios.Match{Stdout: &scenarios.OutputMatch{Contains: new("ell")}}, stream, output("stdout", "no"),
			`stdout: want it to contain "ell", saw "no"`, ""},
		{"an expression", scenarios.Match{Stdout: &scenarios.OutputMatch{Matches: `^h.*o\n$`}},
			stream, func(x *bundle.Exchange) { x.Outputs = nil }, `stdout: want it to match "^h.*o\\n$", saw ""`, ""},
		{"a terminal's output", scenarios.Match{PTY: text("")}, stream, output("pty", "$ "),
			`pty differs at byte 0: want the end, saw "$ "`, ""},
		{"a body of text", scenarios.Match{Body: &scenarios.BodyMatch{Text: new("{}")}},
			unary, func(x *bundle.Exchange) { x.Body = nil }, `body differs at byte 0: want "{}", saw the end`, ""},
		{"an empty body", scenarios.Match{Body: &scenarios.BodyMatch{Empty: new(true)}},
			of(unary, func(x *bundle.Exchange) { x.Body = nil }), body("<html>"), `body: want none, saw 6 bytes: "<html>"`, ""},
		{"a body as a JSON value", scenarios.Match{Body: &scenarios.BodyMatch{JSON: map[string]any{"pid": "${p.pid}", "tags": []any{"a"}}}},
			of(unary, body("{ \"tags\":[ \"a\" ],\n\"pid\":42 }")), body(`{"pid":42,"tags":["a","b"]}`),
			`body: at tags: want ["a"], saw ["a","b"]`, ""},
		{"a body that holds a JSON value", scenarios.Match{Body: &scenarios.BodyMatch{JSONHas: map[string]any{"processes": []any{map[string]any{"pid": 42}}}}},
			of(unary, body(`{"processes":[{"pid":7},{"pid":42,"tag":"x"}]}`)), body(`{"processes":[{"pid":7}]}`),
			`body: at processes: want an element {"pid":42}, saw [{"pid":7}]`, ""},
		{"a list holds a process", scenarios.Match{Lists: []string{"p"}}, of(unary, body(`{"processes":[{"pid":42}]}`)), body(`{}`),
			"list: want pid 42 (p) in it, saw an empty list", ""},
		{"a list in protobuf does not hold a process", scenarios.Match{NotLists: []string{"p"}},
			of(unary, func(x *bundle.Exchange) {
				x.RPC, x.Codec, x.Body = "process.Process/List", "proto", new(bundle.NewBlob([]byte{0x0a, 2, 0x10, 41}, nil))
			}), func(x *bundle.Exchange) { x.Body = new(bundle.NewBlob([]byte{0x0a, 2, 0x10, 42}, nil)) },
			"list: want pid 42 (p) gone, saw it listed", ""},
		{"a compressed response", scenarios.Match{Compressed: new(true)},
			of(stream, func(x *bundle.Exchange) { x.Frames[1].Flags = 1 }), func(x *bundle.Exchange) { x.Frames[1].Flags = 0 },
			"want a compressed response, saw none of 4 messages compressed", ""},
		{"no compressed message", scenarios.Match{Compressed: new(false)}, stream, func(x *bundle.Exchange) { x.Frames[3].Flags = 3 },
			"want no compression, saw a compressed message (frame 3, body offset 75)", ""},
		{"events spread over time", scenarios.Match{Spread: scenarios.Span{Fixed: time.Millisecond}},
			stream, func(x *bundle.Exchange) { x.Events[2].At.T = x.Events[1].At.T },
			"spread: want the first data at least 1ms before the end, saw 0s (held back; first data in frame 1, body offset 25)", ""},
		{"within a time", scenarios.Match{Within: scenarios.Span{RTT: 20}}, stream, func(x *bundle.Exchange) { x.Returned.T += 50e6 },
			"time: want at most 20ms, took 58ms", ""},
		{"not before a time", scenarios.Match{NotBefore: scenarios.Span{Fixed: 5 * time.Millisecond}},
			stream, func(x *bundle.Exchange) { x.Returned.T = x.Invoked.T + 2e6 },
			"time: want at least 5ms, took 2ms (HTTP 200, events start data end, ended with code 0)", ""},
		{"a gap after the end of stream", scenarios.Match{Gap: scenarios.Span{Fixed: 5 * time.Millisecond}},
			stream, func(x *bundle.Exchange) { x.Response.Ended.T += 30e6 },
			"gap: want the body to end within 5ms of the end-of-stream, took 31ms", ""},
		{"a reusable connection", scenarios.Match{Conn: "reusable"},
			stream, func(x *bundle.Exchange) { x.Violations = []bundle.Violation{{Kind: "http.extra-bytes"}} },
			"connection: want no more bytes on it, saw extra bytes after the response", ""},
		{"a legal set of complete responses", scenarios.Match{Any: []scenarios.NamedMatch{
			{Name: "refused", Match: scenarios.Match{Error: &scenarios.ErrorMatch{Code: []string{"invalid_argument"}}}},
			{Name: "no-limit", Match: scenarios.Match{End: &scenarios.EndMatch{Code: []int{0}}}},
		}}, stream, func(x *bundle.Exchange) { x.Events[2].Exit.Code = 9 },
			"none of the legal responses fits: refused (want error invalid_argument, saw HTTP 200, events start data end, ended with code 9) or no-limit (exit code: want 0, saw 9 (end event, frame 2, body offset 50)); saw HTTP 200, events start data end, ended with code 9", "no-limit"},
	} {
		t.Run(c.name, c.run)
	}
}

// matchCase is a matcher with a response that it fits and a change that it does not.
type matchCase struct {
	name    string
	match   scenarios.Match
	x       func() *bundle.Exchange
	change  func(*bundle.Exchange)
	message string
	seen    string
}

func (c *matchCase) run(t *testing.T) {
	good := judgeOne(t, scenarioOf(subjects("send", &c.match)), observation(c.x()))
	wantVerdict(t, good, bundle.Pass, "")
	if good.Seen != c.seen {
		t.Errorf("seen %q, want %q", good.Seen, c.seen)
	}
	x := c.x()
	c.change(x)
	bad := judgeOne(t, scenarioOf(subjects("send", &c.match)), observation(x))
	wantVerdict(t, bad, bundle.Fail, c.message)
	if bad.Evidence == nil || bad.Evidence.Exchange != 0 {
		t.Errorf("evidence %+v does not point at the exchange", bad.Evidence)
	}
}

func TestWhatIsGoneIsInconclusive(t *testing.T) {
	x := streamExchange("send")
	x.Outputs["stdout"] = &bundle.Blob{Len: 80000, Head: []byte("abc"), Tail: []byte("xyz")}
	for name, m := range map[string]struct {
		match   scenarios.OutputMatch
		message string
	}{
		"a digest that was not kept": {scenarios.OutputMatch{Digest: digest(nil)}, "stdout: neither the bytes nor a digest was kept"},
		"an expression":              {scenarios.OutputMatch{Matches: "abc"}, "stdout: only a part of the 80000 bytes was kept"},
		"a part that may be in the middle": {scenarios.OutputMatch{Contains: new("middle")},
			`stdout: "middle" is neither in the first nor in the last bytes, and the rest was not kept`},
	} {
		t.Run(name, func(t *testing.T) {
			v := judgeOne(t, scenarioOf(subjects("send", &scenarios.Match{Stdout: &m.match})), observation(x))
			wantVerdict(t, v, bundle.Inconclusive, m.message)
		})
	}
	v := judgeOne(t, scenarioOf(subjects("send", &scenarios.Match{Stdout: &scenarios.OutputMatch{Contains: new("xyz")}})), observation(x))
	wantVerdict(t, v, bundle.Pass, "")
}

func TestConnClosedByPeer(t *testing.T) {
	s := scenarioOf(subjects("c", &scenarios.Match{Conn: "closed-by-peer"}))
	o := observation()
	o.Iterations[0].Conns = []bundle.Conn{{ID: 0, Name: "c", Ended: &bundle.ConnEnd{By: "peer", How: "fin"}}}
	wantVerdict(t, judgeOne(t, s, o), bundle.Pass, "")
	o.Iterations[0].Conns[0].Ended.By = "us"
	wantVerdict(t, judgeOne(t, s, o), bundle.Fail, "c: connection: want it closed by the peer, saw it still open")
}

// A server may close a connection after any response.
func TestAConnectionThatIsClosedIsNotReusedAndNoBreach(t *testing.T) {
	x := streamExchange("send")
	x.Response.Headers = append(x.Response.Headers, headers("Connection", "close")...)
	v := judgeOne(t, scenarioOf(subjects("send", &scenarios.Match{Conn: "reusable"})), observation(x))
	wantVerdict(t, v, bundle.Unsupported, "connection: the server ends it, which is legal (Connection: close)")
}
