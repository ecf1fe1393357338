package engine

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// allAxes returns the permutations that a connect-go server supports.
func allAxes() []bundle.Axes {
	var all []bundle.Axes
	for _, protocol := range []string{call.Connect, call.GRPC, call.GRPCWeb} {
		for _, codec := range []string{call.JSON, call.Proto} {
			for _, http := range []string{transport.HTTP1, transport.H2C} {
				for _, compression := range []string{"identity", call.Gzip} {
					if protocol != call.GRPC || http != transport.HTTP1 {
						all = append(all, bundle.Axes{Protocol: protocol, Codec: codec, HTTP: http, Compression: compression})
					}
				}
			}
		}
	}
	return all
}

// held parses a script with a request that stays open: its writes to the connection
// "held" become writes to the exchange "i".
func held(t *testing.T, text string) *scenarios.Scenario {
	t.Helper()
	s := parse(t, text)
	s.EachStep(func(st *scenarios.Step) {
		if st.Write != nil && st.Write.To == "held" {
			st.Write.To = "i"
		}
	})
	s.Steps = slices.DeleteFunc(s.Steps, func(st scenarios.Step) bool { return st.Open != nil && st.Open.As == "held" })
	return s
}

const life = `
deadline: 80s
steps:
  - open: {as: held}
  - start: {as: p, sh: cat, timeout-ms: 90000}
  - list: {as: l}
  - send:
      as: i
      rpc: process.Process/StreamInput
      framing: chunked
      wait: none
      body: [{chunk: {of: [{envelope: {message: {start: {process: {pid: "${p.pid}"}}}}}]}}]
  - write: {to: held, of: [{chunk: {of: [{envelope: {message: {data: {input: {stdin: aGkK}}}}}]}}]}
  - await: {on: p, output: "hi\n"}
  - write: {to: held, of: [{envelope: {message: {data: {input: {stdin: aG8K}}}}}], split: every-byte}
  - await: {on: p, output: "ho\n"}
  - write: {to: held, of: [{chunk: {last: true}}]}
  - await: {on: i, done: true}
  - input: {as: in, to: p, data: "x\n"}
  - signal: {as: nobody, pid: 7, name: SIGKILL}
  - close-stdin: {as: c, to: p}
  - await: {on: p, event: end}
  - await: {on: p, done: true}
`

func TestAProcessLivesOnAllAxes(t *testing.T) {
	t.Parallel()
	for _, axes := range allAxes() {
		t.Run(axes.String(), func(t *testing.T) {
			gw := newPolyglot(t)
			o := newBench(t, gw.URL).runInstance(scenarios.Instance{Scenario: held(t, life), Axes: axes})
			it := &o.Iterations[0]
			for _, x := range it.Exchanges {
				if x.Outcome != bundle.OutcomeComplete || len(x.Violations) > 0 || x.Protocol != axes.Protocol || x.Codec != axes.Codec {
					t.Errorf("%s: outcome %q (%s), %s, %s, violations %v", x.Name, x.Outcome, x.Detail, x.Protocol, x.Codec, x.Violations)
				}
				if it.Conns[x.Conn].HTTP != axes.HTTP {
					t.Errorf("%s went over HTTP %s", x.Name, it.Conns[x.Conn].HTTP)
				}
				if (x.GRPC != nil) != (axes.Protocol != call.Connect) || x.GRPC != nil && x.GRPC.Code != map[bool]int{false: 0, true: 5}[x.Name == "nobody"] {
					t.Errorf("%s: status %+v", x.Name, x.GRPC)
				}
			}
			if p := it.Exchange("p"); p == nil || p.Outputs["stdout"] == nil || string(p.Outputs["stdout"].Data) != "hi\nho\nx\n" {
				t.Errorf("the process is recorded as %+v, awaits %+v", p, it.Awaits)
			}
			if x := it.Exchange("nobody"); x == nil || x.Error == nil || x.Error.Code != "not_found" {
				t.Errorf("the answer about an unknown process is %+v", x)
			}
			checkHeads(t, gw, axes)
		})
	}
}

// checkHeads checks the requests as the server received them.
func checkHeads(t *testing.T, gw *polyglot, axes bundle.Axes) {
	t.Helper()
	unary, stream := gw.request(t, call.ProcessList).Header, gw.request(t, call.ProcessStart).Header
	type field struct {
		of   string
		name string
		want string
	}
	var want []field
	switch axes.Protocol {
	case call.Connect:
		want = []field{
			{"unary", "Content-Type", "application/" + axes.Codec}, {"stream", "Content-Type", "application/connect+" + axes.Codec},
			{"unary", "Connect-Protocol-Version", "1"}, {"stream", "Connect-Timeout-Ms", "90000"}, {"stream", "Te", ""},
		}
	default:
		kind := "application/" + axes.Protocol + "+" + axes.Codec
		want = []field{
			{"unary", "Content-Type", kind}, {"stream", "Content-Type", kind}, {"unary", "Connect-Protocol-Version", ""},
			{"unary", "Grpc-Timeout", ""}, {"stream", "Grpc-Timeout", "90000m"},
			{"unary", "Te", map[string]string{call.GRPC: "trailers"}[axes.Protocol]},
			{"unary", "X-Grpc-Web", map[string]string{call.GRPCWeb: "1"}[axes.Protocol]},
		}
	}
	unaryEncoding, streamEncoding := "Content-Encoding", "Connect-Content-Encoding"
	unaryAccept, streamAccept := "Accept-Encoding", "Connect-Accept-Encoding"
	if axes.Protocol != call.Connect {
		unaryEncoding, streamEncoding, unaryAccept, streamAccept = "Grpc-Encoding", "Grpc-Encoding", "Grpc-Accept-Encoding", "Grpc-Accept-Encoding"
	}
	encoding := strings.TrimPrefix(axes.Compression, "identity")
	want = append(want, field{"unary", unaryEncoding, encoding}, field{"stream", streamEncoding, encoding},
		field{"unary", unaryAccept, encoding}, field{"stream", streamAccept, encoding})
	heads := map[string]map[string][]string{"unary": unary, "stream": stream}
	for _, f := range want {
		if got := strings.Join(heads[f.of][f.name], "|"); got != f.want {
			t.Errorf("%s: %s is %q, want %q", f.of, f.name, got, f.want)
		}
	}
	if axes.HTTP == transport.H2C && axes.Protocol == call.GRPC && stream["Content-Length"] != nil {
		t.Error("a gRPC request declares its length")
	}
}

func TestAPTYIsStartedFedAndResized(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{call.Connect, call.GRPC} {
		t.Run(protocol, func(t *testing.T) {
			gw := newPolyglot(t)
			axes := bundle.Axes{Protocol: protocol, Codec: call.Proto, HTTP: transport.H2C, Compression: "identity"}
			o := newBench(t, gw.URL).runInstance(scenarios.Instance{Axes: axes, Scenario: parse(t, `
steps:
  - start: {as: p, sh: cat, pty: {cols: 80, rows: 24}}
  - input: {as: i, to: p, pty: true, data: "hello"}
  - update: {as: u, to: p, cols: 100, rows: 30}
  - await: {on: p, output: hello}
`)})
			it := &o.Iterations[0]
			if out := it.Exchange("p").Outputs["pty"]; out == nil || string(out.Data) != "hello" || it.Exchange("p").Events[1].Stream != "pty" {
				t.Errorf("outputs %+v", it.Exchange("p").Outputs)
			}
			if u := it.Exchange("u"); u.Outcome != bundle.OutcomeComplete || u.Error != nil {
				t.Errorf("update: %+v", u)
			}
			if p := it.Processes; len(p) != 1 || p[0].Cleanup != cleanupKilled || gw.alive() != 0 {
				t.Errorf("processes %+v, %d alive", p, gw.alive())
			}
		})
	}
}

func TestASendNamesAnotherProtocolAndTimeout(t *testing.T) {
	gw := newPolyglot(t)
	i := instanceOf(parse(t, `
steps:
  - send: {as: a, rpc: process.Process/List, protocol: grpc-web, timeout: 5S, message: {}}
  - send: {as: b, rpc: process.Process/CloseStdin, timeout: "", message: {process: {pid: 1}}}
`))
	it := &newBench(t, gw.URL).runInstance(i).Iterations[0]
	a, b := it.Exchange("a"), it.Exchange("b")
	if a.Protocol != call.GRPCWeb || a.GRPC == nil || a.GRPC.Code != 0 || a.Shape != bundle.ShapeUnary {
		t.Errorf("a: %s, status %+v, %s", a.Protocol, a.GRPC, a.Shape)
	}
	if got := gw.request(t, call.ProcessList).Header["Grpc-Timeout"]; !slices.Equal(got, []string{"5S"}) {
		t.Errorf("timeout %q", got)
	}
	if got := gw.request(t, call.ProcessCloseStdin).Header["Connect-Timeout-Ms"]; b.Protocol != call.Connect || !slices.Equal(got, []string{""}) {
		t.Errorf("b: %s, timeout %q", b.Protocol, got)
	}
}

func TestATargetIsSpokenToInTheWayThatReachesIt(t *testing.T) {
	t.Parallel()
	gw := newPolyglot(t)
	gw.grpcOnly.Store(true)
	b := newBench(t, gw.URL).patient()
	if _, err := b.options.Target.Calibrate(t.Context(), b.options.Clock); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"http.1", "protocol.connect"} {
		b.options.Run.Features[id] = bundle.Feature{State: bundle.FeatureAbsent}
	}
	o := b.run("steps: [{start: {as: p, sh: sleep}}]")
	if o.Skip != nil || o.Axes != b.options.Target.Way() || o.Axes.Protocol != call.GRPC || o.Axes.HTTP != transport.H2C {
		t.Fatalf("skip %+v, axes %s", o.Skip, o.Axes)
	}
	if p := o.Iterations[0].Processes; len(p) != 1 || p[0].Cleanup != cleanupKilled || gw.alive() != 0 {
		t.Errorf("processes %+v, %d alive", p, gw.alive())
	}
	for _, x := range o.Iterations[0].Exchanges {
		if x.Protocol != call.GRPC || x.Stream == 0 {
			t.Errorf("%s (%s) went over %s, stream %d", x.Name, x.Op, x.Protocol, x.Stream)
		}
	}
	raw := b.run("steps: [{open: {as: c}}]\nexpect: {c: {outcome: closed}}")
	if raw.Skip == nil || raw.Skip.Reason != bundle.SkipFeature || raw.Skip.Detail != "http.1" {
		t.Errorf("a script of HTTP/1.1: skip %+v", raw.Skip)
	}
}

func TestAProcessLivesOverTLS(t *testing.T) {
	t.Parallel()
	for _, axes := range []bundle.Axes{
		{Protocol: call.Connect, Codec: call.JSON, HTTP: transport.HTTP1, Compression: "identity"},
		{Protocol: call.Connect, Codec: call.JSON, HTTP: transport.H2C, Compression: "identity"},
		{Protocol: call.GRPC, Codec: call.Proto, HTTP: transport.H2TLS, Compression: call.Gzip},
	} {
		t.Run(axes.String(), func(t *testing.T) {
			gw, ca := newSecurePolyglot(t)
			b := newBench(t, gw.URL)
			var err error
			if b.options.Target, err = target.New(target.Options{URL: gw.URL, CACert: ca}); err != nil {
				t.Fatal(err)
			}
			o := b.runInstance(scenarios.Instance{Scenario: held(t, life), Axes: axes})
			if axes.HTTP == transport.H2C {
				axes.HTTP = transport.H2TLS
			}
			if o.Axes != axes {
				t.Errorf("recorded as %s", o.Axes)
			}
			it := &o.Iterations[0]
			for _, c := range it.Conns {
				if c.HTTP != axes.HTTP || c.TLS == nil {
					t.Errorf("connection %s: HTTP %s, TLS %+v", c.Name, c.HTTP, c.TLS)
				}
			}
			if p := it.Exchange("p"); p == nil || p.Outputs["stdout"] == nil || string(p.Outputs["stdout"].Data) != "hi\nho\nx\n" {
				t.Errorf("the process is recorded as %+v, awaits %+v", p, it.Awaits)
			}
		})
	}
}

func TestARawConnectionIsOverTLSWhereTheTargetIs(t *testing.T) {
	t.Parallel()
	gw, ca := newSecurePolyglot(t)
	b := newBench(t, gw.URL)
	var err error
	if b.options.Target, err = target.New(target.Options{URL: gw.URL, CACert: ca}); err != nil {
		t.Fatal(err)
	}
	o := b.run(`
steps:
  - open: {as: c, http: h2, raw: true}
  - write: {to: c, of: [{frame: {type: preface}}, {frame: {type: SETTINGS}}]}
  - await: {on: c, h2: SETTINGS-ACK}
  - open: {as: d, http: "1.1"}
  - write: {to: d, of: [{text: "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"}]}
  - await: {on: d, done: true}
`)
	it := &o.Iterations[0]
	if len(it.Awaits) != 2 || !it.Awaits[0].Met || !it.Awaits[1].Met || it.Conns[0].TLS == nil || it.Conns[1].TLS == nil {
		t.Errorf("awaits %+v", it.Awaits)
	}
}
