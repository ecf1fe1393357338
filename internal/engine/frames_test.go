package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/scenarios"
)

var h2Axes = bundle.Axes{Protocol: call.Connect, Codec: call.JSON, HTTP: transport.H2C, Compression: "identity"}

func runH2(t *testing.T, gw *polyglot, s *scenarios.Scenario) *bundle.Iteration {
	t.Helper()
	o := newBench(t, gw.URL).runInstance(scenarios.Instance{Scenario: s, Axes: h2Axes})
	if o.Skip != nil || len(o.Iterations) != 1 {
		t.Fatalf("skip %+v, %d iterations", o.Skip, len(o.Iterations))
	}
	return &o.Iterations[0]
}

// sent returns the frames that we sent on streams of a connection, written "DATA 5
// END_STREAM". A HEADERS frame has no length, since HPACK decides it.
func sent(c bundle.Conn) []string {
	var all []string
	for _, f := range c.H2 {
		if f.Dir != "sent" || f.Stream == 0 {
			continue
		}
		text := fmt.Sprintf("%d %s", f.Stream, f.Type)
		if f.Type == "DATA" {
			text += fmt.Sprintf(" %d", f.Len)
		}
		if (f.Type == "DATA" || f.Type == "HEADERS") && f.Flags&1 != 0 {
			text += " END_STREAM"
		}
		if f.Type == "RST_STREAM" {
			text += " " + f.Detail
		}
		all = append(all, text)
	}
	return all
}

func TestRequestsAreTheseFramesOnHTTP2(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		steps string
		want  []string // on the connection of the exchange s
	}{
		"no body": {
			`[{send: {as: s, surface: metrics}}]`, []string{"1 HEADERS END_STREAM"},
		},
		"an empty message": {
			`[{send: {as: s, rpc: process.Process/List, body: []}}]`, []string{"1 HEADERS END_STREAM"},
		},
		"a message": {
			`[{send: {as: s, rpc: process.Process/List, message: {}}}]`, []string{"1 HEADERS", "1 DATA 2 END_STREAM"},
		},
		"a split is one DATA frame each": {
			`[{send: {as: s, rpc: process.Process/List, body: [{text: "{    }"}], split: {at: [1, 4], pause: 1ms}}}]`,
			[]string{"1 HEADERS", "1 DATA 1", "1 DATA 3", "1 DATA 2 END_STREAM"},
		},
		"every byte": {
			`[{send: {as: s, rpc: process.Process/List, message: {}, split: every-byte}}]`,
			[]string{"1 HEADERS", "1 DATA 1", "1 DATA 1 END_STREAM"},
		},
		"chunks become DATA": {
			`[{send: {as: s, rpc: process.Process/List, body: [{chunk: {of: "{"}}, {chunk: {of: "}", last: true}}]}}]`,
			[]string{"1 HEADERS", "1 DATA 2 END_STREAM"},
		},
		"a length beyond the body leaves the stream open": {
			`[{send: {as: s, rpc: process.Process/List, content-length: 9, body: [{text: abc}], wait: none}}, {close: {on: s, how: cancel}}]`,
			[]string{"1 HEADERS", "1 DATA 3", "1 RST_STREAM CANCEL"},
		},
		"half ends the stream nevertheless": {
			`[{send: {as: s, rpc: process.Process/List, content-length: 9, body: [{text: abc}], finish: half}}]`,
			[]string{"1 HEADERS", "1 DATA 3 END_STREAM"},
		},
		"so does a later half": {
			`[{send: {as: s, rpc: process.Process/List, framing: chunked, body: [{chunk: {of: "{}"}}], wait: none}}, {close: {on: s, how: half}}, {await: {on: s, done: true}}]`,
			[]string{"1 HEADERS", "1 DATA 2", "1 DATA 0 END_STREAM"},
		},
		"a second stream on the connection": {
			`[{start: {as: s, sh: cat}}, {send: {as: b, rpc: process.Process/List, message: {}, on: s}}]`,
			[]string{"1 HEADERS", "1 DATA 94 END_STREAM", "3 HEADERS", "3 DATA 2 END_STREAM"},
		},
		"a request on a connection that was opened": {
			`[{open: {as: c}}, {send: {as: s, rpc: process.Process/List, message: {}, on: c}}]`,
			[]string{"1 HEADERS", "1 DATA 2 END_STREAM"},
		},
		"frames beside a request, on its stream": {
			`[{start: {as: s, sh: cat}}, {open: {as: held}}, {send: {as: i, rpc: process.Process/List, framing: chunked, body: [{chunk: {of: "{"}}], wait: none, on: s}},
			  {write: {to: held, of: [{frame: {type: WINDOW_UPDATE, increment: 5}}, {text: "}"}, {frame: {type: RST_STREAM, code: 8}}]}}]`,
			[]string{"1 HEADERS", "1 DATA 94 END_STREAM", "3 HEADERS", "3 DATA 1", "3 WINDOW_UPDATE", "3 DATA 1", "3 RST_STREAM CANCEL"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			it := runH2(t, newPolyglot(t), held(t, "steps: "+tc.steps))
			got := sent(it.Conns[it.Exchange("s").Conn])
			if diff := cmp.Diff(tc.want, got[:min(len(got), len(tc.want))]); diff != "" {
				t.Errorf("frames sent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnHTTP2FieldsAreInLowerCaseAndNoneIsOfTheConnection(t *testing.T) {
	it := runH2(t, newPolyglot(t), parse(t, `steps: [{send: {as: s, rpc: process.Process/List, message: {}, headers: {X-Upper: "1"}}}]`))
	x := it.Exchange("s")
	if x.Outcome != bundle.OutcomeComplete || x.Stream != 1 {
		t.Fatalf("outcome %q (%s), stream %d", x.Outcome, x.Detail, x.Stream)
	}
	var names []string
	for _, h := range x.Request.Headers {
		names = append(names, h.Name)
	}
	text := strings.Join(names, " ")
	if text != strings.ToLower(text) || slices.Contains(names, "connection") || !slices.Contains(names, "x-upper") || !slices.Contains(names, "connect-protocol-version") {
		t.Errorf("fields %s", text)
	}
}

func TestACancelledExchangeIsOursAndReachesTheServer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		http   string
		closed bool // the connection is
	}{
		"by close, on HTTP/2":         {"[{start: {as: p, sh: sleep}}, {close: {on: p, how: cancel}}, {send: {as: l, rpc: process.Process/List, message: {}, on: p}}]", transport.H2C, false},
		"by finish, on HTTP/2":        {`[{send: {as: p, rpc: process.Process/Start, finish: half, wait: start, message: {process: {cmd: x, args: [sleep]}}}}, {close: {on: p, how: cancel}}, {list: {as: l}}]`, transport.H2C, false},
		"by close, on HTTP/1.1":       {"[{start: {as: p, sh: sleep}}, {close: {on: p, how: cancel}}, {list: {as: l}}]", transport.HTTP1, true},
		"by closing the connection":   {"[{start: {as: p, sh: sleep}}, {close: {on: p, how: fin}}, {list: {as: l}}]", transport.H2C, true},
		"by resetting the connection": {"[{start: {as: p, sh: sleep}}, {close: {on: p, how: rst}}, {list: {as: l}}]", transport.H2C, true},
	} {
		t.Run(name, func(t *testing.T) {
			gw := newPolyglot(t)
			// The clean-up kills the process over another connection, and the server may see that before the cancellation.
			gw.holds.Store(true)
			axes := h2Axes
			axes.HTTP = tc.http
			o := newBench(t, gw.URL).runInstance(scenarios.Instance{Scenario: parse(t, "steps: "+tc.script+"\nexpect: {l: ok}"), Axes: axes})
			it := &o.Iterations[0]
			p, l := it.Exchange("p"), it.Exchange("l")
			if !p.Aborted || p.Outcome != bundle.OutcomeAborted || l == nil || l.Outcome != bundle.OutcomeComplete {
				t.Fatalf("p: aborted %v, outcome %q; l: %+v", p.Aborted, p.Outcome, l)
			}
			end := it.Conns[p.Conn].Ended
			if closed := end != nil && end.By == "us" && end.At.Before(l.Invoked); closed != tc.closed {
				t.Errorf("the connection ended as %+v", end)
			}
			patience := time.Minute
			if tc.closed {
				patience = 10 * time.Second
			}
			select {
			case path := <-gw.cancelled:
				if path != "/"+call.ProcessStart {
					t.Errorf("the cancelled request is %s", path)
				}
			case <-time.After(patience):
				// On a closed connection, a server may see a failed write before the
				// end of the request.
				if !tc.closed {
					t.Error("the server never saw the end of the request")
				}
			}
		})
	}
}

func TestFramesByFieldAreAnsweredAndAwaited(t *testing.T) {
	t.Parallel()
	gw := newPolyglot(t)
	it := runH2(t, gw, parse(t, `
steps:
  - open: {as: c, http: h2}
  - await: {on: c, h2: SETTINGS-ACK}
  - write: {to: c, of: [{frame: {type: PING, of: [{text: "12345678"}]}}]}
  - await: {on: c, h2: PING-ACK}
  - write:
      to: c
      shape: unary
      of:
        - frame:
            type: HEADERS
            flags: 4
            stream: 1
            fields: [{name: ":method", value: POST}, {name: ":scheme", value: http}, {name: ":path", value: /process.Process/List}, {name: ":authority", value: ""}, {name: content-type, value: application/json}]
        - frame: {type: DATA, flags: 1, stream: 1, of: [{json: {}}]}
  - await: {on: c, done: true}
  - write: {to: c, of: [{frame: {type: DATA, stream: 5, of: [{text: x}]}}]}
  - await: {on: c, h2: GOAWAY}
  - await: {on: c, closed: true}
`))
	for _, a := range it.Awaits {
		if !a.Met {
			t.Errorf("not met: %s on %s", a.What, a.On)
		}
	}
	if len(it.Awaits) != 5 {
		t.Errorf("%d awaits, want 5", len(it.Awaits))
	}
	c := it.Exchange("c")
	if c == nil || c.Op != "raw" || c.Stream != 1 || c.Response == nil || c.Response.Status != 200 || string(c.Body.Data) != "{}" {
		t.Fatalf("the answer to frames is recorded as %+v", c)
	}
	if r := gw.request(t, call.ProcessList); r.Host != strings.TrimPrefix(gw.URL, "http://") {
		t.Errorf("authority %q", r.Host)
	}
}

func TestAnAwaitOfAFrameIsOfTheExchangesOwnStream(t *testing.T) {
	t.Parallel()
	for name, await := range map[string]string{
		"another stream was reset": "{on: p, h2: RST_STREAM, within: 50ms}",
		"for another reason":       "{on: q, h2: RST_STREAM CANCEL, within: 50ms}",
	} {
		t.Run(name, func(t *testing.T) {
			o := newBench(t, newPolyglot(t).URL).runInstance(scenarios.Instance{Axes: h2Axes, Scenario: parse(t, `
deadline: 60s
steps:
  - start: {as: p, sh: sleep}
  - send: {as: q, on: p, rpc: process.Process/List, content-length: 1, body: [{json: {}}], wait: none}
  - await: {on: q, h2: RST_STREAM PROTOCOL_ERROR}
  - await: `+await)})
			awaits := o.Iterations[0].Awaits
			if len(awaits) != 2 || !awaits[0].Met || awaits[1].Met {
				t.Errorf("awaits %+v", awaits)
			}
		})
	}
}

func TestARawConnectionOfHTTP2SaysOnlyWhatTheScriptSays(t *testing.T) {
	t.Parallel()
	gw := newPolyglot(t)
	it := runH2(t, gw, parse(t, `
steps:
  - open: {as: c, http: h2, raw: true}
  - write: {to: c, of: [{frame: {type: preface}}, {frame: {type: SETTINGS, settings: {INITIAL_WINDOW_SIZE: 0}}}], split: every-byte}
  - await: {on: c, h2: SETTINGS-ACK}
  - close: {on: c, how: half}
  - await: {on: c, closed: true}
`))
	for _, a := range it.Awaits {
		if !a.Met {
			t.Errorf("not met: %s", a.What)
		}
	}
	want := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x06\x04\x00\x00\x00\x00\x00" + "\x00\x04\x00\x00\x00\x00"
	if got := gw.tap.received()[0]; got != want {
		t.Errorf("the server was sent %q, want %q", got, want)
	}
	if n := len(it.Conns[0].Writes); n != len(want) {
		t.Errorf("%d writes, want one for each of %d bytes", n, len(want))
	}
}

func TestTheBodyOfARequestGoesOnInChunksOnHTTP1(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	b := newBench(t, gw.URL)
	o := b.runInstance(instanceOf(held(t, `
steps:
  - open: {as: held}
  - send: {as: i, rpc: process.Process/List, framing: chunked, wait: none, body: [{chunk: {of: "{"}}]}
  - write: {to: held, of: [{text: "   "}], split: {at: [4]}}
  - write: {to: held, of: [{chunk: {of: "}", extension: ";x=y"}}, {chunk: {last: true}}]}
  - await: {on: i, done: true}
`)))
	want := b.head("POST", "/process.Process/List", "Connect-Protocol-Version: 1", "Content-Type: application/json", "Transfer-Encoding: chunked") +
		"1\r\n{\r\n" + "3\r\n   \r\n" + "1;x=y\r\n}\r\n0\r\n\r\n"
	if diff := cmp.Diff(want, gw.tap.received()[0]); diff != "" {
		t.Errorf("bytes on the wire (-want +got):\n%s", diff)
	}
	it := &o.Iterations[0]
	if len(it.Exchanges) != 1 || it.Exchanges[0].Outcome != bundle.OutcomeComplete || it.Exchanges[0].Sent == nil {
		t.Errorf("exchanges %+v", it.Exchanges)
	}
	if last := it.Conns[0].Writes[len(it.Conns[0].Writes)-1].At; it.Exchanges[0].Sent.Before(last) {
		t.Error("the request counts as sent before its last chunk")
	}
}

func TestADeclaredLengthIsFilledByLaterWrites(t *testing.T) {
	t.Parallel()
	for _, http := range []string{transport.HTTP1, transport.H2C} {
		t.Run(http, func(t *testing.T) {
			gw := newPolyglot(t)
			axes := h2Axes
			axes.HTTP = http
			o := newBench(t, gw.URL).runInstance(scenarios.Instance{Axes: axes, Scenario: held(t, `
steps:
  - open: {as: held}
  - send: {as: i, rpc: process.Process/Connect, content-length: 26, wait: none, body: [{hex: "0000"}]}
  - write: {to: held, of: [{hex: "000015"}]}
  - write: {to: held, of: [{json: {process: {pid: 9}}}]}
  - await: {on: i, done: true}
`)})
			x := o.Iterations[0].Exchange("i")
			if x.Outcome != bundle.OutcomeComplete || x.Error == nil || x.Error.Code != "not_found" && x.Error.Code != "unimplemented" || x.Sent == nil {
				t.Errorf("outcome %q (%s), error %+v", x.Outcome, x.Detail, x.Error)
			}
		})
	}
}

func TestAConnectionDecidesAboutTheFormOfARequestOnIt(t *testing.T) {
	gw := newPolyglot(t)
	for name, tc := range map[string]struct {
		axes   string
		opened string
	}{
		"HTTP/2 on the axes of HTTP/1.1": {transport.HTTP1, "h2"},
		"HTTP/1.1 on the axes of HTTP/2": {transport.H2C, `"1.1"`},
	} {
		t.Run(name, func(t *testing.T) {
			axes := h2Axes
			axes.HTTP = tc.axes
			o := newBench(t, gw.URL).runInstance(scenarios.Instance{Axes: axes, Scenario: parse(t, `
steps:
  - open: {as: c, http: `+tc.opened+`}
  - send: {as: s, on: c, rpc: process.Process/List, message: {}}
`)})
			it := &o.Iterations[0]
			s := it.Exchange("s")
			if s.Outcome != bundle.OutcomeComplete || s.Response.Status != 200 || (s.Stream != 0) != (tc.opened == "h2") || len(it.Conns) != 1 {
				t.Errorf("outcome %q (%s), stream %d, %d connections", s.Outcome, s.Detail, s.Stream, len(it.Conns))
			}
		})
	}
}

func TestAnAnswerThatNeverBeganOnHTTP2IsNone(t *testing.T) {
	t.Parallel()
	gw := newPolyglot(t)
	gaveBack := func(o *bundle.Observation) bool {
		conns := o.Iterations[0].Conns
		return len(conns) > 0 && slices.ContainsFunc(conns[0].H2, func(f bundle.H2Frame) bool {
			return f.Dir == "received" && f.Type == "WINDOW_UPDATE" && f.Stream != 0
		})
	}
	// The request is long enough for the server to return window, which is no answer.
	o := longer(500*time.Millisecond, func(d time.Duration) *bundle.Observation {
		return newBench(t, gw.URL).runInstance(scenarios.Instance{Axes: h2Axes, Scenario: parse(t, "deadline: "+d.String()+`
steps:
  - send:
      as: s
      rpc: process.Process/StreamInput
      framing: chunked
      body: [{chunk: {of: [{repeat: {text: "\0\0\0\0\x10{\"keepalive\":{}}", times: 20000}}]}}]
`)})
	}, gaveBack)
	if !gaveBack(o) {
		t.Error("the server returned no window")
	}
	if s := o.Iterations[0].Exchange("s"); s.Outcome != bundle.OutcomeNoAnswer || s.Sent != nil {
		t.Errorf("outcome %q (%s), sent %v", s.Outcome, s.Detail, s.Sent)
	}
}
