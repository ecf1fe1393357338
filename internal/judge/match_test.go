package judge

import (
	"strings"
	"testing"
	"time"

	"assay/internal/bundle"
	"assay/scenarios"
)

// TestMatch has, for every field of a matcher, a response that passes and one that fails, with
// the message that a gateway's author reads.
func TestMatch(t *testing.T) {
	text := func(s string) *scenarios.OutputMatch {
		return &scenarios.OutputMatch{Bytes: scenarios.Bytes{Text: &s}}
	}
	long := strings.Repeat("0123456789abcde\n", 5000) // 80,000 bytes
	cases := []struct {
		name    string
		match   scenarios.Match
		x       func() *bundle.Exchange // default: a healthy stream
		change  func(*bundle.Exchange)  // breaks it
		message string
		seen    string
	}{
		{
			name: "ok on a stream wants an end-of-stream", match: scenarios.Match{OK: ptr(true)},
			change:  func(x *bundle.Exchange) { x.EndStream = nil },
			message: "want success, saw a stream without end-of-stream (4 frames)",
		},
		{
			name: "ok wants no error", match: scenarios.Match{OK: ptr(true)},
			change:  func(x *bundle.Exchange) { withError(x, 200, "internal", "boom") },
			message: `want success, saw HTTP 200, error internal "boom", events start data end, ended with code 0`,
		},
		{
			name: "ok on the alias wants an end", match: scenarios.Match{OK: ptr(true)},
			x:       func() *bundle.Exchange { return ndjsonExchange("send") },
			change:  func(x *bundle.Exchange) { x.Events = x.Events[:2] },
			message: "want success, saw lines without an end event (3 lines)",
		},
		{
			name: "not ok wants an error", match: scenarios.Match{OK: ptr(false)},
			x:       func() *bundle.Exchange { return withError(unaryExchange("send"), 404, "not_found", "") },
			change:  func(x *bundle.Exchange) { x.Error, x.Response.Status = nil, 200 },
			message: "want an error, saw HTTP 200",
		},
		{
			name: "outcome is a legal set", match: scenarios.Match{Outcome: []string{"complete", "closed"}}, seen: "complete",
			change:  func(x *bundle.Exchange) { x.Outcome = bundle.OutcomeStalled },
			message: "want outcome complete or closed, saw a response that had not ended by the deadline (after 4 frames)",
		},
		{
			name: "a response must be complete by default", match: scenarios.Match{Start: ptr(true)},
			change:  func(x *bundle.Exchange) { x.Outcome, x.Detail = bundle.OutcomeReset, "connection reset by peer" },
			message: "want a complete response, saw the connection reset before the response was complete (after 4 frames): connection reset by peer",
		},
		{
			name: "status is a legal set", match: scenarios.Match{Status: []int{200, 204}}, seen: "HTTP 200",
			change:  func(x *bundle.Exchange) { x.Response.Status = 500; x.Events = nil },
			message: "want HTTP 200 or 204, saw HTTP 500",
		},
		{
			name: "a header has its value", match: scenarios.Match{Headers: map[string]*string{"X-A": ptr("1")}},
			x: func() *bundle.Exchange {
				x := streamExchange("send")
				x.Response.Headers = headers("x-a", "1")
				return x
			},
			change:  func(x *bundle.Exchange) { x.Response.Headers[0].Value = "2" },
			message: `header X-A: want "1", saw "2"`,
		},
		{
			name: "a header is absent", match: scenarios.Match{Headers: map[string]*string{"X-A": nil}},
			change:  func(x *bundle.Exchange) { x.Response.Headers = headers("X-A", "2") },
			message: `header X-A: want none, saw "2"`,
		},
		{
			name: "a header is present", match: scenarios.Match{Headers: map[string]*string{"content-type": ptr("*")}},
			change:  func(x *bundle.Exchange) { x.Response.Headers = nil },
			message: "header content-type: want any value, saw none",
		},
		{
			name: "an error has one of the codes", match: scenarios.Match{Error: &scenarios.ErrorMatch{Code: []string{"not_found", "internal"}}},
			x: func() *bundle.Exchange {
				return withError(unaryExchange("send"), 404, "not_found", "no process 9")
			}, seen: "not_found",
			change:  func(x *bundle.Exchange) { withError(x, 500, "unknown", "") },
			message: "want error not_found or internal, saw HTTP 500, error unknown",
		},
		{
			name: "any error has a code of the 16", match: scenarios.Match{Error: &scenarios.ErrorMatch{Code: []string{"*"}}},
			x:       func() *bundle.Exchange { return withError(unaryExchange("send"), 404, "not_found", "") },
			seen:    "not_found",
			change:  func(x *bundle.Exchange) { x.Error.Code = "NotFound" },
			message: `want any error, saw the code "NotFound", which is not one of the 16`,
		},
		{
			name: "an error message holds a part", match: scenarios.Match{Error: &scenarios.ErrorMatch{Message: "gzip"}},
			x:       func() *bundle.Exchange { return withError(unaryExchange("send"), 501, "unimplemented", "only gzip") },
			seen:    "unimplemented",
			change:  func(x *bundle.Exchange) { x.Error.Message = "no" },
			message: `error message: want it to contain "gzip", saw HTTP 501, error unimplemented "no"`,
		},
		{
			name: "a start event comes first", match: scenarios.Match{Start: ptr(true)},
			change:  func(x *bundle.Exchange) { x.Events = x.Events[1:] },
			message: "start event: want it first, saw data (frame 1, body offset 25)",
		},
		{
			name: "no start event", match: scenarios.Match{Start: ptr(false)},
			x:       func() *bundle.Exchange { x := streamExchange("send"); x.Events = nil; return x },
			change:  func(x *bundle.Exchange) { x.Events = streamExchange("").Events },
			message: "start event: want none, saw pid 42 (frame 0, body offset 0)",
		},
		{
			name: "the exit code", match: scenarios.Match{End: &scenarios.EndMatch{Code: []int{3}}},
			x:       func() *bundle.Exchange { x := streamExchange("send"); x.Events[2].Exit.Code = 3; return x },
			change:  func(x *bundle.Exchange) { x.Events[2].Exit.Code = 0 },
			message: "exit code: want 3, saw 0 (end event, frame 2, body offset 50)",
		},
		{
			name: "the signal", match: scenarios.Match{End: &scenarios.EndMatch{Signal: []string{"SIGKILL"}}},
			x: func() *bundle.Exchange {
				x := streamExchange("send")
				x.Events[2].Exit = &bundle.Exit{Code: -1, Status: "signal: killed", Signal: "SIGKILL"}
				return x
			},
			change: func(x *bundle.Exchange) {
				x.Events[2].Exit.Status, x.Events[2].Exit.Signal = "signal: terminated", "SIGTERM"
			},
			message: `signal: want SIGKILL, saw SIGTERM, status "signal: terminated" (end event, frame 2, body offset 50)`,
		},
		{
			name: "a signal implies a code that is not 0", match: scenarios.Match{End: &scenarios.EndMatch{Signal: []string{"SIGKILL"}}},
			x: func() *bundle.Exchange {
				x := ndjsonExchange("send")
				x.Events[2].Exit.Code = -1
				return x
			},
			change:  func(x *bundle.Exchange) { x.Events[2].Exit.Code = 0 },
			message: "exit code: want any but 0 (ended by SIGKILL), saw 0 (end event, line 2, body offset 50)",
		},
		{
			name: "exited", match: scenarios.Match{End: &scenarios.EndMatch{Exited: ptr(true)}},
			change:  func(x *bundle.Exchange) { x.Events[2].Exit.Exited = false },
			message: "exited: want true, saw false (end event, frame 2, body offset 50)",
		},
		{
			name: "the error text", match: scenarios.Match{End: &scenarios.EndMatch{Error: ptr(false)}},
			change:  func(x *bundle.Exchange) { x.Events[2].Exit.Error = ptr("exit status 1") },
			message: `error text: want none, saw "exit status 1" (end event, frame 2, body offset 50)`,
		},
		{
			name: "the status", match: scenarios.Match{End: &scenarios.EndMatch{Status: "exit status 0"}},
			change:  func(x *bundle.Exchange) { x.Events[2].Exit.Status = "" },
			message: `status: want "exit status 0", saw "" (end event, frame 2, body offset 50)`,
		},
		{
			name: "an end event at all", match: scenarios.Match{End: &scenarios.EndMatch{Code: []int{0}}},
			change:  func(x *bundle.Exchange) { x.Events = x.Events[:2] },
			message: "end event: want exit code 0, saw none (HTTP 200, events start data)",
		},
		{
			name: "ends once", match: scenarios.Match{Ends: "once"},
			change:  func(x *bundle.Exchange) { x.Events = append(x.Events, x.Events[2]) },
			message: "end events: want exactly one, saw 2 (the second: frame 2, body offset 50)",
		},
		{
			name: "ends never", match: scenarios.Match{Ends: "never"},
			x:       func() *bundle.Exchange { x := streamExchange("send"); x.Events = x.Events[:2]; return x },
			change:  func(x *bundle.Exchange) { x.Events = streamExchange("").Events },
			message: "end events: want none, saw 1 (the first: frame 2, body offset 50)",
		},
		{
			name: "ends at most once", match: scenarios.Match{Ends: "at-most-once"},
			change:  func(x *bundle.Exchange) { x.Events = append(x.Events, x.Events[2]) },
			message: "end events: want at most one, saw 2 (the second: frame 2, body offset 50)",
		},
		{
			name: "a pattern of events", match: scenarios.Match{Events: "start data* end"},
			change:  func(x *bundle.Exchange) { x.Events = append(x.Events, x.Events[1], x.Events[1]) },
			message: `events: want "start data* end", saw "start data end data×2"`,
		},
		{
			name: "what must never come", match: scenarios.Match{Never: []scenarios.EventMatch{{Event: "stderr"}}},
			change:  func(x *bundle.Exchange) { x.Events[1].Stream = "stderr" },
			message: "stderr event: want none, saw one (frame 1, body offset 25)",
		},
		{
			name: "a short output", match: scenarios.Match{Stdout: text("hello\n")},
			change:  func(x *bundle.Exchange) { x.Outputs["stdout"] = ptr(bundle.NewBlob([]byte("help"), nil)) },
			message: `stdout differs at byte 3: want "lo\n", saw "p" (body offset 25)`,
		},
		{
			name: "an output that must be empty", match: scenarios.Match{Stderr: text("")},
			change:  func(x *bundle.Exchange) { x.Outputs["stderr"] = ptr(bundle.NewBlob([]byte("oops"), nil)) },
			message: `stderr differs at byte 0: want the end, saw "oops"`,
		},
		{
			name: "a long output by digest, and the window around the difference", match: scenarios.Match{Stdout: text(long)},
			x: func() *bundle.Exchange {
				x := streamExchange("send")
				x.Outputs["stdout"] = compared(long, long)
				return x
			},
			change: func(x *bundle.Exchange) {
				x.Outputs["stdout"] = compared(long[:65536], long)
			},
			message: `stdout differs at byte 65536: want "0123456789abcde\n0123456789abcde\n0123456789abcde\n0123456789ab"…, saw the end`,
		},
		{
			name: "a long output without a window", match: scenarios.Match{Stdout: text(long)},
			x: func() *bundle.Exchange {
				x := streamExchange("send")
				x.Outputs["stdout"] = ptr(bundle.NewBlob([]byte(long), nil))
				return x
			},
			change:  func(x *bundle.Exchange) { x.Outputs["stdout"] = ptr(bundle.NewBlob([]byte(long[:65536]), nil)) },
			message: `stdout: want 80000 bytes, saw 65536 (it ends in "89abcde\n0123456789abcde\n", want "89abcde\n0123456789abcde\n")`,
		},
		{
			name: "a length", match: scenarios.Match{Stdout: &scenarios.OutputMatch{Length: ptr(int64(6))}},
			change:  func(x *bundle.Exchange) { x.Outputs = nil },
			message: "stdout: want 6 bytes, saw 0",
		},
		{
			name: "a digest", match: scenarios.Match{Stdout: &scenarios.OutputMatch{Digest: digest([]byte("hello\n"))}},
			change:  func(x *bundle.Exchange) { x.Outputs = nil },
			message: "stdout: want SHA-256 " + digest([]byte("hello\n")) + ", saw " + digest(nil) + " (0 bytes)",
		},
		{
			name: "a prefix", match: scenarios.Match{Stdout: &scenarios.OutputMatch{PrefixOf: &scenarios.Bytes{Text: ptr("hello\nworld\n")}}},
			change:  func(x *bundle.Exchange) { x.Outputs["stdout"] = ptr(bundle.NewBlob([]byte("hellx"), nil)) },
			message: `stdout differs at byte 4: want "o", saw "x" (body offset 25)`,
		},
		{
			name: "a suffix", match: scenarios.Match{Stdout: &scenarios.OutputMatch{SuffixOf: &scenarios.Bytes{Text: ptr("say hello\n")}}},
			change: func(x *bundle.Exchange) {
				x.Outputs["stdout"] = ptr(bundle.NewBlob([]byte("they say hello\n"), nil))
			},
			message: `stdout: want a suffix of "say hello\n", saw 5 bytes more`,
		},
		{
			name: "a part", match: scenarios.Match{Stdout: &scenarios.OutputMatch{Contains: ptr("ell")}},
			change:  func(x *bundle.Exchange) { x.Outputs["stdout"] = ptr(bundle.NewBlob([]byte("no"), nil)) },
			message: `stdout: want it to contain "ell", saw "no"`,
		},
		{
			name: "an expression", match: scenarios.Match{Stdout: &scenarios.OutputMatch{Matches: `^h.*o\n$`}},
			change:  func(x *bundle.Exchange) { x.Outputs = nil },
			message: `stdout: want it to match "^h.*o\\n$", saw ""`,
		},
		{
			name: "a terminal's output", match: scenarios.Match{PTY: text("")},
			change:  func(x *bundle.Exchange) { x.Outputs["pty"] = ptr(bundle.NewBlob([]byte("$ "), nil)) },
			message: `pty differs at byte 0: want the end, saw "$ "`,
		},
		{
			name: "a body of text", match: scenarios.Match{Body: &scenarios.BodyMatch{Text: ptr("{}")}},
			x:       func() *bundle.Exchange { return unaryExchange("send") },
			change:  func(x *bundle.Exchange) { x.Body = nil },
			message: `body differs at byte 0: want "{}", saw the end`,
		},
		{
			name: "an empty body", match: scenarios.Match{Body: &scenarios.BodyMatch{Empty: ptr(true)}},
			x:       func() *bundle.Exchange { x := unaryExchange("send"); x.Body = nil; return x },
			change:  func(x *bundle.Exchange) { x.Body = ptr(bundle.NewBlob([]byte("<html>"), nil)) },
			message: `body: want none, saw 6 bytes: "<html>"`,
		},
		{
			name: "a body as a JSON value", match: scenarios.Match{Body: &scenarios.BodyMatch{JSON: map[string]any{"pid": "${p.pid}", "tags": []any{"a"}}}},
			x: func() *bundle.Exchange {
				x := unaryExchange("send")
				x.Body = ptr(bundle.NewBlob([]byte("{ \"tags\":[ \"a\" ],\n\"pid\":42 }"), nil))
				return x
			},
			change: func(x *bundle.Exchange) {
				x.Body = ptr(bundle.NewBlob([]byte(`{"pid":42,"tags":["a","b"]}`), nil))
			},
			message: `body: at tags: want ["a"], saw ["a","b"]`,
		},
		{
			name: "a body that holds a JSON value", match: scenarios.Match{Body: &scenarios.BodyMatch{JSONHas: map[string]any{"processes": []any{map[string]any{"pid": 42}}}}},
			x: func() *bundle.Exchange {
				x := unaryExchange("send")
				x.Body = ptr(bundle.NewBlob([]byte(`{"processes":[{"pid":7},{"pid":42,"tag":"x"}]}`), nil))
				return x
			},
			change:  func(x *bundle.Exchange) { x.Body = ptr(bundle.NewBlob([]byte(`{"processes":[{"pid":7}]}`), nil)) },
			message: `body: at processes: want an element {"pid":42}, saw [{"pid":7}]`,
		},
		{
			name: "a list holds a process", match: scenarios.Match{Lists: []string{"p"}},
			x: func() *bundle.Exchange {
				x := unaryExchange("send")
				x.Body = ptr(bundle.NewBlob([]byte(`{"processes":[{"pid":42}]}`), nil))
				return x
			},
			change:  func(x *bundle.Exchange) { x.Body = ptr(bundle.NewBlob([]byte(`{}`), nil)) },
			message: "list: want pid 42 (p) in it, saw an empty list",
		},
		{
			name: "a list in protobuf does not hold a process", match: scenarios.Match{NotLists: []string{"p"}},
			x: func() *bundle.Exchange {
				x := unaryExchange("send")
				x.RPC, x.Codec, x.Body = "process.Process/List", "proto", ptr(bundle.NewBlob([]byte{0x0a, 2, 0x10, 41}, nil))
				return x
			},
			change:  func(x *bundle.Exchange) { x.Body = ptr(bundle.NewBlob([]byte{0x0a, 2, 0x10, 42}, nil)) },
			message: "list: want pid 42 (p) gone, saw it listed",
		},
		{
			name: "a compressed response", match: scenarios.Match{Compressed: ptr(true)},
			x:       func() *bundle.Exchange { x := streamExchange("send"); x.Frames[1].Flags = 1; return x },
			change:  func(x *bundle.Exchange) { x.Frames[1].Flags = 0 },
			message: "want a compressed response, saw none of 4 messages compressed",
		},
		{
			name: "no compressed message", match: scenarios.Match{Compressed: ptr(false)},
			change:  func(x *bundle.Exchange) { x.Frames[3].Flags = 3 },
			message: "want no compression, saw a compressed message (frame 3, body offset 75)",
		},
		{
			name: "events spread over time", match: scenarios.Match{Spread: scenarios.Span{Fixed: time.Millisecond}},
			change:  func(x *bundle.Exchange) { x.Events[2].At.T = x.Events[1].At.T },
			message: "spread: want the first data at least 1ms before the end, saw 0s (held back; first data in frame 1, body offset 25)",
		},
		{
			name: "within a time", match: scenarios.Match{Within: scenarios.Span{RTT: 20}},
			change:  func(x *bundle.Exchange) { x.Returned.T += 50e6 },
			message: "time: want at most 20ms, took 58ms",
		},
		{
			name: "not before a time", match: scenarios.Match{NotBefore: scenarios.Span{Fixed: 5 * time.Millisecond}},
			change:  func(x *bundle.Exchange) { x.Returned.T = x.Invoked.T + 2e6 },
			message: "time: want at least 5ms, took 2ms (HTTP 200, events start data end, ended with code 0)",
		},
		{
			name: "a gap after the end of stream", match: scenarios.Match{Gap: scenarios.Span{Fixed: 5 * time.Millisecond}},
			change:  func(x *bundle.Exchange) { x.Response.Ended.T += 30e6 },
			message: "gap: want the body to end within 5ms of the end-of-stream, took 31ms",
		},
		{
			name: "a reusable connection", match: scenarios.Match{Conn: "reusable"},
			change:  func(x *bundle.Exchange) { x.Violations = []bundle.Violation{{Kind: "http.extra-bytes"}} },
			message: "connection: want no more bytes on it, saw extra bytes after the response",
		},
		{
			name: "a legal set of complete responses", match: scenarios.Match{Any: []scenarios.NamedMatch{
				{Name: "refused", Match: scenarios.Match{Error: &scenarios.ErrorMatch{Code: []string{"invalid_argument"}}}},
				{Name: "no-limit", Match: scenarios.Match{End: &scenarios.EndMatch{Code: []int{0}}}},
			}}, seen: "no-limit",
			change:  func(x *bundle.Exchange) { x.Events[2].Exit.Code = 9 },
			message: "none of the legal responses fits: refused (want error invalid_argument, saw HTTP 200, events start data end, ended with code 9) or no-limit (exit code: want 0, saw 9 (end event, frame 2, body offset 50)); saw HTTP 200, events start data end, ended with code 9",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.x == nil {
				c.x = func() *bundle.Exchange { return streamExchange("send") }
			}
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
		})
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
		"a part that may be in the middle": {scenarios.OutputMatch{Contains: ptr("middle")},
			`stdout: "middle" is neither in the first nor in the last bytes, and the rest was not kept`},
	} {
		t.Run(name, func(t *testing.T) {
			v := judgeOne(t, scenarioOf(subjects("send", &scenarios.Match{Stdout: &m.match})), observation(x))
			wantVerdict(t, v, bundle.Inconclusive, m.message)
		})
	}
	v := judgeOne(t, scenarioOf(subjects("send", &scenarios.Match{Stdout: &scenarios.OutputMatch{Contains: ptr("xyz")}})), observation(x))
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
