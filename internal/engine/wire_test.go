package engine

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/wire"
	"assay/scenarios"
)

// head returns a request head: the target's fields, then the given fields, written
// "Name: value".
func (b *bench) head(method, path string, fields ...string) string {
	hs := slices.Clone(b.options.Target.Headers("test.script", "run1"))
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		hs = append(hs, bundle.Header{Name: name, Value: value})
	}
	return string(transport.RequestHead(method, path, hs))
}

func (b *bench) unary(method, json string) string {
	return b.head("POST", "/process.Process/"+method, "Connect-Protocol-Version: 1", "Content-Type: application/json",
		"Content-Length: "+strconv.Itoa(len(json))) + json
}

func (b *bench) stream(method, json string, fields ...string) string {
	fields = append(slices.Concat([]string{"Connect-Protocol-Version: 1"}, fields, []string{"Content-Type: application/connect+json"}),
		"Content-Length: "+strconv.Itoa(5+len(json)))
	return b.head("POST", "/process.Process/"+method, fields...) + enveloped(json)
}

func enveloped(json string) string { return string(wire.AppendEnvelope(nil, 0, []byte(json))) }

const started = `{"process":{"cmd":"/bin/sh","args":["-c","sleep"],"envs":{"ASSAY_RUN":"run1/test.script"}}}`

func TestStepsSendTheseBytes(t *testing.T) {
	t.Parallel()
	newline := base64.StdEncoding.EncodeToString([]byte("\n"))
	for name, tc := range map[string]struct {
		script string
		want   func(b *bench) []string // the first connections, in order
	}{
		"start uses the shell, with the run's mark": {
			`steps: [{start: {as: p, sh: sleep}}]`,
			func(b *bench) []string { return []string{b.stream("Start", started)} },
		},
		"start sends every field": {
			`steps: [{start: {as: p, cmd: c, args: [a, exit 3], envs: {A: "${iteration}"}, cwd: /x, stdin: false, tag: "t-${run}", pty: {cols: 80, rows: 24}, timeout-ms: 5000, headers: {X-Y: z}}}]`,
			func(b *bench) []string {
				json := `{"process":{"cmd":"c","args":["a","exit 3"],"envs":{"A":"0","ASSAY_RUN":"run1/test.script"},"cwd":"/x"},` +
					`"pty":{"size":{"cols":80,"rows":24}},"tag":"t-run1","stdin":false}`
				return []string{b.head("POST", "/process.Process/Start", "Connect-Protocol-Version: 1", "Connect-Timeout-Ms: 5000",
					"Content-Type: application/connect+json", "Content-Length: "+strconv.Itoa(5+len(json)), "X-Y: z") + enveloped(json)}
			},
		},
		"start via commands": {
			`steps: [{start: {as: p, via: commands, sh: exit 1, timeout-ms: 7}}]`,
			func(b *bench) []string {
				json := `{"cmd":"exit 1","timeout_ms":7}`
				return []string{b.head("POST", "/commands", "Content-Type: application/json", "Content-Length: 31") + json}
			},
		},
		"connect, by pid": {
			`steps: [{start: {as: p, sh: sleep}}, {connect: {as: q, to: p}}]`,
			func(b *bench) []string {
				return []string{b.stream("Start", started), b.stream("Connect", `{"process":{"pid":101}}`)}
			},
		},
		"signal by its enum name": {
			`steps: [{start: {as: p, sh: sleep}}, {signal: {to: p, name: SIGKILL}}]`,
			func(b *bench) []string {
				return []string{b.stream("Start", started), b.unary("SendSignal", `{"process":{"pid":101},"signal":"SIGNAL_SIGKILL"}`)}
			},
		},
		"a signal of any other name unchanged, to a tag": {
			`steps: [{signal: {as: s, tag: x, name: SIGNAL_NONE}}]`,
			func(b *bench) []string {
				return []string{b.unary("SendSignal", `{"process":{"tag":"x"},"signal":"SIGNAL_NONE"}`)}
			},
		},
		"a signal by number, to a pid": {
			`steps: [{signal: {as: s, pid: 5, name: "2"}}]`,
			func(b *bench) []string { return []string{b.unary("SendSignal", `{"process":{"pid":5},"signal":2}`)} },
		},
		"signal via commands": {
			`steps: [{signal: {as: s, pid: 5, via: commands, name: SIGKILL}}]`,
			func(b *bench) []string { return []string{b.head("POST", "/commands/5/kill", "Content-Length: 0")} },
		},
		"input": {
			`steps: [{input: {as: i, pid: 5, data: "\n"}}]`,
			func(b *bench) []string {
				return []string{b.unary("SendInput", `{"process":{"pid":5},"input":{"stdin":"`+newline+`"}}`)}
			},
		},
		"input to a PTY": {
			`steps: [{input: {as: i, pid: 5, pty: true, data: {hex: "0a"}}}]`,
			func(b *bench) []string {
				return []string{b.unary("SendInput", `{"process":{"pid":5},"input":{"pty":"`+newline+`"}}`)}
			},
		},
		"close-stdin": {
			`steps: [{close-stdin: {as: c, pid: 5}}]`,
			func(b *bench) []string { return []string{b.unary("CloseStdin", `{"process":{"pid":5}}`)} },
		},
		"update": {
			`steps: [{update: {as: u, pid: 5, cols: 100, rows: 30}}]`,
			func(b *bench) []string {
				return []string{b.unary("Update", `{"process":{"pid":5},"pty":{"size":{"cols":100,"rows":30}}}`)}
			},
		},
		"list": {
			`steps: [{list: {as: l}}]`,
			func(b *bench) []string { return []string{b.unary("List", `{}`)} },
		},
		"list via commands": {
			`steps: [{list: {as: l, via: commands}}]`,
			func(b *bench) []string { return []string{b.head("GET", "/commands")} },
		},
		"scrape": {
			`steps: [{list: {as: l}}, {scrape: {as: m}}]`,
			func(b *bench) []string { return []string{b.unary("List", `{}`), b.head("GET", "/metrics")} },
		},
		"open and write": {
			`steps: [{open: {as: c}}, {write: {to: c, of: [{text: "GET /a"}, {hex: "0d 0a"}, {envelope: {flags: 3, text: x}}]}}, {close: {on: c, how: half}}, {await: {on: c, closed: true}}]`,
			func(*bench) []string { return []string{"GET /a\r\n\x03\x00\x00\x00\x01x"} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			gw := newMiniature(t)
			b := newBench(t, gw.URL)
			b.run(tc.script)
			want := tc.want(b)
			got := gw.tap.received()
			if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
				t.Errorf("bytes on the wire (-want +got):\n%s", diff)
			}
			if n := gw.alive(); n != 0 {
				t.Errorf("%d processes were left behind", n)
			}
		})
	}
}

func TestSendSendsTheseBytes(t *testing.T) {
	t.Parallel()
	const message = `{"process":{"cmd":"x"}}`
	const marked = `{"process":{"cmd":"x","envs":{"ASSAY_RUN":"run1/test.script"}}}`
	start := func(b *bench, length string, body string, fields ...string) string {
		all := []string{"Connect-Protocol-Version: 1", "Content-Type: application/connect+json"}
		if length != "" {
			all = append(all, length)
		}
		return b.head("POST", "/process.Process/Start", append(all, fields...)...) + body
	}
	for name, tc := range map[string]struct {
		send string
		want func(b *bench) string
	}{
		"a message of a streaming RPC is enveloped": {
			`{rpc: process.Process/Start, message: {process: {cmd: x}}}`,
			func(b *bench) string { return start(b, "Content-Length: 68", enveloped(marked)) },
		},
		"a message whose bytes are counted is unchanged": {
			`{rpc: process.Process/Start, message: {process: {cmd: x}}, split: {at: [3]}}`,
			func(b *bench) string { return start(b, "Content-Length: 28", enveloped(message)) },
		},
		"the mark is added to an environment": {
			`{rpc: process.Process/Start, message: {process: {cmd: x, envs: {B: y}}}}`,
			func(b *bench) string {
				return start(b, "Content-Length: 76", enveloped(strings.Replace(marked, `"}}}`, `","B":"y"}}}`, 1)))
			},
		},
		"an environment of another type is unchanged": {
			`{rpc: process.Process/Start, message: {process: {cmd: x, envs: 5}}}`,
			func(b *bench) string {
				return start(b, "Content-Length: 37", enveloped(strings.Replace(message, `"}}`, `","envs":5}}`, 1)))
			},
		},
		"a unary message is not enveloped": {
			`{rpc: process.Process/List, message: {}}`,
			func(b *bench) string { return b.unary("List", `{}`) },
		},
		"an envelope lies about its length and flags": {
			`{rpc: process.Process/Start, body: [{envelope: {flags: 0x84, length: 4294967295, json: {a: 1}}}]}`,
			func(b *bench) string { return start(b, "Content-Length: 12", "\x84\xff\xff\xff\xff"+`{"a":1}`) },
		},
		"no body at all": {
			`{rpc: process.Process/Start, body: []}`,
			func(b *bench) string { return start(b, "Content-Length: 0", "") },
		},
		"pieces of a body": {
			`{rpc: process.Process/Start, body: [{text: ab}, {hex: "00ff"}, {json: [1, "<"]}, {seq: {from: 1, to: 3}}, {repeat: {text: xy, times: 2}}]}`,
			func(b *bench) string { return start(b, "Content-Length: 21", "ab\x00\xff"+`[1,"<"]`+"1\n2\n3\nxyxy") },
		},
		"one chunk and the last": {
			`{rpc: process.Process/Start, message: {process: {cmd: x}}, framing: chunked}`,
			func(b *bench) string {
				return start(b, "Transfer-Encoding: chunked", "44\r\n"+enveloped(marked)+"\r\n0\r\n\r\n")
			},
		},
		"chunks of the script, with an extension and a wrong size": {
			`{rpc: process.Process/Start, framing: chunked, body: [{chunk: {of: [{text: abc}], extension: ";a=b"}}, {chunk: {of: [{text: d}], size: 16}}, {chunk: {last: true}}], finish: half}`,
			func(b *bench) string {
				return start(b, "Transfer-Encoding: chunked", "3;a=b\r\nabc\r\n10\r\nd\r\n0\r\n\r\n")
			},
		},
		"a wrong length": {
			`{rpc: process.Process/Start, body: [{text: abc}], content-length: 9, finish: half}`,
			func(b *bench) string { return start(b, "Content-Length: 9", "abc") },
		},
		"no declared length": {
			`{rpc: process.Process/Start, body: [{text: abc}], framing: none, finish: half}`,
			func(b *bench) string { return start(b, "", "abc") },
		},
		"headers are replaced in place, added, and removed": {
			`{rpc: process.Process/List, message: {}, headers: {content-type: text/x, X-B: "${run}", X-A: "1", Connect-Protocol-Version: null}}`,
			func(b *bench) string {
				return b.head("POST", "/process.Process/List", "content-type: text/x", "Content-Length: 2", "X-A: 1", "X-B: run1") + "{}"
			},
		},
		"a surface and a path below it": {
			`{surface: commands, path: /7/log}`,
			func(b *bench) string { return b.head("GET", "/commands/7/log") },
		},
		"a plain JSON body": {
			`{surface: commands, method: POST, json: {cmd: exit 0, timeout_ms: 0}}`,
			func(b *bench) string {
				return b.head("POST", "/commands", "Content-Type: application/json", "Content-Length: 31") + `{"cmd":"exit 0","timeout_ms":0}`
			},
		},
		"another method": {
			`{rpc: process.Process/List, method: PUT, body: []}`,
			func(b *bench) string {
				return b.head("PUT", "/process.Process/List", "Connect-Protocol-Version: 1", "Content-Type: application/json")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			gw := newMiniature(t)
			b := newBench(t, gw.URL)
			b.run("steps: [{send: " + tc.send + "}]")
			got := gw.tap.received()
			if diff := cmp.Diff(tc.want(b), got[0]); diff != "" {
				t.Errorf("bytes on the wire (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAxesChangeTheBytes(t *testing.T) {
	script := parse(t, `
steps:
  - send: {as: u, rpc: process.Process/SendSignal, message: {process: {pid: 5}, signal: SIGNAL_SIGKILL}}
  - send: {as: s, rpc: process.Process/Connect, message: {process: {pid: 5}}}
`)
	proto := "\x0a\x02\x08\x05"
	packed := string(call.Compress([]byte(proto + "\x10\x09")))
	gw := newMiniature(t)
	b := newBench(t, gw.URL)
	b.runInstance(scenarios.Instance{Scenario: script, Axes: bundle.Axes{Protocol: "connect", Codec: "proto", HTTP: "1.1", Compression: "gzip"}})
	inner := call.Compress([]byte(proto))
	want := []string{
		b.head("POST", "/process.Process/SendSignal", "Connect-Protocol-Version: 1", "Content-Type: application/proto",
			"Content-Encoding: gzip", "Accept-Encoding: gzip", "Content-Length: "+strconv.Itoa(len(packed))) + packed,
		b.head("POST", "/process.Process/Connect", "Connect-Protocol-Version: 1", "Content-Type: application/connect+proto",
			"Connect-Content-Encoding: gzip", "Connect-Accept-Encoding: gzip", "Content-Length: "+strconv.Itoa(5+len(inner))) +
			string(wire.AppendEnvelope(nil, wire.FlagCompressed, inner)),
	}
	if diff := cmp.Diff(want, gw.tap.received()[:2]); diff != "" {
		t.Errorf("bytes on the wire (-want +got):\n%s", diff)
	}
}

func TestASplitIsSentInSeparateWrites(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run(`
steps:
  - send: {as: a, rpc: process.Process/List, message: {}, split: every-byte}
  - send: {as: b, rpc: process.Process/List, body: [{text: "{    }"}], split: {at: [1, 4], pause: 3ms}}
`)
	var lengths [][]int
	for _, c := range o.Iterations[0].Conns {
		var one []int
		for _, w := range c.Writes[1:] { // after the head
			one = append(one, w.Len)
		}
		lengths = append(lengths, one)
	}
	if diff := cmp.Diff([][]int{{1, 1}, {1, 3, 2}}, lengths); diff != "" {
		t.Errorf("lengths of the writes (-want +got):\n%s", diff)
	}
	w := o.Iterations[0].Conns[1].Writes
	if pause := w[2].At.T - w[1].At.T; pause < 3_000_000 {
		t.Errorf("the pause between two writes was %d ns, want at least 3 ms", pause)
	}
}

func TestAnEarlierConnectionIsUsedAgain(t *testing.T) {
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run(`
steps:
  - send: {as: a, rpc: process.Process/List, message: {}}
  - send: {as: b, rpc: process.Process/List, message: {}, on: a}
  - open: {as: c}
  - send: {as: d, rpc: process.Process/List, message: {}, on: c}
`)
	it := o.Iterations[0]
	if a, b := it.Exchange("a"), it.Exchange("b"); a.Conn != b.Conn || b.Response == nil {
		t.Errorf("a ran on connection %d, b on %d", a.Conn, b.Conn)
	}
	if len(it.Conns) != 2 || it.Exchange("d").Outcome != bundle.OutcomeComplete {
		t.Errorf("%d connections, d is %q", len(it.Conns), it.Exchange("d").Outcome)
	}
}
