package reports

import (
	"bytes"
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// family is an observation of one exchange in one protocol.
type family struct {
	name    string
	conn    bundle.Conn
	e       bundle.Exchange
	verdict bundle.Verdict
	want    []string // parts of lines that must be in the transcript
}

func families() []family {
	return []family{grpcWithoutStatus(), webWithTrailers(), unaryGzip(), lostLine(), streamWithoutEnd(), socketWithStream3()}
}

func (f family) observation() *bundle.Observation {
	it := bundle.Iteration{Conns: []bundle.Conn{f.conn}, Exchanges: []bundle.Exchange{f.e}}
	return &bundle.Observation{Scenario: "family." + f.name, Axes: axesJSON, Iterations: []bundle.Iteration{it}}
}

func pointing(rule string, off int64) bundle.Verdict {
	return bundle.Verdict{
		Scenario: "family", Axes: axesJSON, Rule: rule, Level: "must", Conclusion: bundle.Fail, Message: "as the transcript shows",
		Evidence: &bundle.Evidence{Off: off},
	}
}

// grpcWithoutStatus is an HTTP/2 response with an error in its trailers.
func grpcWithoutStatus() family {
	c := &clock{}
	f := family{name: "grpc", verdict: pointing("grpc.status.message", 7), want: []string{
		"→ frame HEADERS END_HEADERS stream 1 length 40", "← frame RST_STREAM stream 1 length 4  NO_ERROR",
		"grpc-status 5 not_found in the trailers: no process", "grpc-status-details-bin, decoded", "by END_STREAM", "◀ violation  grpc.status-message",
	}}
	f.conn = bundle.Conn{HTTP: "h2c", Dialed: c.at(0), Connected: c.ptr(100_000)}
	f.e = bundle.Exchange{
		Name: "send", Op: "send", RPC: "process.Process/SendSignal", Protocol: "grpc", Shape: bundle.ShapeUnary, Codec: "proto", Stream: 1,
		Invoked: c.at(10_000), Sent: c.ptr(1000), Outcome: bundle.OutcomeComplete,
		Request: bundle.Request{Method: "POST", Path: "/process.Process/SendSignal", Body: bundle.NewBlob(wire.AppendEnvelope(nil, 0, []byte("\x0a\x03\x08\x85\x07")), nil)},
	}
	f.conn.H2 = []bundle.H2Frame{
		{Dir: "sent", Type: "SETTINGS", Len: 18, At: c.at(10), Detail: "ENABLE_PUSH=0"},
		{Dir: "sent", Type: "HEADERS", Flags: 4, Stream: 1, Len: 40, At: c.at(10)},
		{Dir: "sent", Type: "DATA", Flags: 1, Stream: 1, Len: 10, At: c.at(10)},
	}
	f.e.Response = &bundle.Response{Proto: "HTTP/2", Status: 200, Framing: "stream", Head: c.at(300_000), Body: 0, Headers: []bundle.Header{{Name: "content-type", Value: "application/grpc+proto"}}}
	f.conn.H2 = append(f.conn.H2, bundle.H2Frame{Dir: "received", Type: "RST_STREAM", Stream: 1, Len: 4, At: c.at(1000), Detail: "NO_ERROR"})
	f.e.Response.Trailers = []bundle.Header{{Name: "grpc-status", Value: "5"}, {Name: "grpc-message", Value: "no process\x1b[31m"}}
	f.e.Response.Ended = c.ptr(1000)
	f.e.GRPC = &bundle.GRPCStatus{Code: 5, Message: "no process\x1b[31m", Details: []byte("\x08\x05\x12\x02no"), In: "trailers"}
	f.e.Violations = []bundle.Violation{{Kind: "grpc.status-message", In: "body", Off: 0, Detail: "not percent-encoded", At: c.at(10)}}
	return f
}

// webWithTrailers is a gRPC-Web response with a capital letter in its trailer frame.
func webWithTrailers() family {
	c := &clock{}
	f := family{name: "grpc-web", verdict: pointing("grpc-web.trailers.lower-case", 12), want: []string{
		"flags 80 trailers  length 16", "grpc-status 0 ok in a trailer frame", "^^ ◀ grpc-web.trailers.lower-case",
	}}
	f.conn = bundle.Conn{HTTP: "1.1", Dialed: c.at(0)}
	message := wire.AppendEnvelope(nil, 0, []byte("{}"))
	f.e = bundle.Exchange{
		Name: "send", Op: "send", RPC: "process.Process/List", Protocol: "grpc-web", Shape: bundle.ShapeUnary, Codec: "json",
		Invoked: c.at(10_000), Outcome: bundle.OutcomeComplete, Request: bundle.Request{Method: "POST", Path: "/process.Process/List", Body: bundle.NewBlob(message, nil)},
		Response: &bundle.Response{Proto: "HTTP/1.1", Status: 200, Framing: "chunked", Head: c.at(300_000), Body: 28},
		Frames: []bundle.Frame{
			{Len: 2, Head: []byte("{}"), At: c.at(10), Event: -1},
			{Off: 7, Flags: 0x80, Len: 16, Head: []byte("Grpc-status: 0\r\n"), At: c.at(10), Event: -1},
		},
		GRPC: &bundle.GRPCStatus{In: "frame"},
	}
	f.e.Response.Ended = c.ptr(10)
	return f
}

// unaryGzip is a unary error in a compressed body.
func unaryGzip() family {
	c := &clock{}
	body := []byte(`{"code":7,"message":"` + strings.Repeat("long ", 80) + `"}`)
	blob := bundle.NewBlob(body, nil)
	f := family{name: "unary", verdict: pointing("connect.error.code", 8), want: []string{"decoded of 64 B gzip", "^^ ◀ connect.error.code"}}
	f.conn = bundle.Conn{HTTP: "1.1", Dialed: c.at(0)}
	f.e = bundle.Exchange{
		Name: "send", Op: "send", RPC: "process.Process/List", Shape: bundle.ShapeUnary, Codec: "json", Invoked: c.at(10), Outcome: bundle.OutcomeComplete,
		Request:  bundle.Request{Method: "POST", Path: "/process.Process/List", Body: bundle.NewBlob([]byte("{}"), nil)},
		Response: &bundle.Response{Proto: "HTTP/1.1", Status: 403, Framing: "length", Head: c.at(1000), Body: 64, Headers: []bundle.Header{{Name: "Content-Encoding", Value: "gzip"}}},
		Body:     &blob,
	}
	f.e.Response.Ended = c.ptr(10)
	return f
}

// lostLine is an NDJSON response without one line of output.
func lostLine() family {
	c := &clock{}
	got, want := []byte("1\n2\n4\n"), []byte("1\n2\n3\n4\n")
	blob := bundle.NewBlob(got, nil)
	blob.Diff = bundle.FirstDifference(got, want)
	first := `{"type":"start","pid":7}`
	second := `{"type":"stdout","data":"1\n2\n4\n\u202e"}`
	f := family{name: "ndjson", verdict: pointing("process.output.complete", -1), want: []string{
		"@0     line  length 24", "◀ stdout differs from the expected output at byte 4 of 6 bytes", "^^ ◀ came", "^^ ◀ expected",
	}}
	f.conn = bundle.Conn{HTTP: "1.1", Dialed: c.at(0)}
	f.e = bundle.Exchange{
		Name: "p", Op: "start", Surface: "commands", Shape: bundle.ShapeNDJSON, Invoked: c.at(10), Outcome: bundle.OutcomeComplete,
		Request:  bundle.Request{Method: "POST", Path: "/commands", Body: bundle.NewBlob([]byte(`{"cmd":"seq 1 4"}`), nil)},
		Response: &bundle.Response{Proto: "HTTP/1.1", Status: 200, Framing: "chunked", Head: c.at(1000), Body: 60},
		Frames: []bundle.Frame{
			{Len: int64(len(first)), Head: []byte(first), At: c.at(10), Event: 0},
			{Off: int64(len(first)) + 1, Len: int64(len(second)), Head: []byte(second), At: c.at(10), Event: 1},
		},
		Events:  []bundle.Event{{Kind: bundle.EventStart, PID: 7}, {Kind: bundle.EventData, Frame: 1, Stream: "stdout", Len: 6}},
		Outputs: map[string]*bundle.Blob{"stdout": &blob},
	}
	f.e.Response.Ended = c.ptr(10)
	return f
}

// streamWithoutEnd is a Connect stream without its end-of-stream message.
func streamWithoutEnd() family {
	c := &clock{}
	payload := []byte(`{"event":{"end":{"exited":true,"status":"exit status 0"}}}`)
	f := family{name: "stream", verdict: pointing("connect.stream.end-stream-once", int64(len(payload)+5)), want: []string{
		"end  exit 0  exit status 0", "◀ violation  envelope.missing-end-stream",
	}}
	body := wire.AppendEnvelope(nil, 0, payload)
	f.conn = bundle.Conn{HTTP: "1.1", Dialed: c.at(0), Received: bundle.NewBlob(append([]byte("HTTP/1.1 200 OK\r\nContent-Length: 63\r\n\r\n"), body...), nil)}
	f.e = bundle.Exchange{
		Name: "p", Op: "start", RPC: "process.Process/Start", Shape: bundle.ShapeStream, Codec: "json", Invoked: c.at(10), Outcome: bundle.OutcomeComplete,
		Request:    bundle.Request{Method: "POST", Path: "/process.Process/Start", Body: bundle.NewBlob(wire.AppendEnvelope(nil, 0, []byte(`{"process":{"cmd":"/bin/true"}}`)), nil)},
		Response:   &bundle.Response{Proto: "HTTP/1.1", Status: 200, Framing: "length", Head: c.at(1000), Body: int64(len(body))},
		Frames:     []bundle.Frame{{Len: int64(len(payload)), Head: payload, At: c.at(10), Event: 0}},
		Events:     []bundle.Event{{Kind: bundle.EventEnd, Exit: &bundle.Exit{Exited: true, Status: "exit status 0"}}},
		Violations: []bundle.Violation{{Kind: "envelope.missing-end-stream", In: "body", Off: int64(len(body)), Detail: "the stream ended without it", At: c.at(10)}},
	}
	f.e.Response.Ended = c.ptr(10)
	return f
}

func TestEachFamilyIsDrawnByItsOwnFields(t *testing.T) {
	for _, f := range families() {
		for end, s := range map[string]Style{"60": {Width: 60}, "100-verbose": {Width: 100, Verbose: true}} {
			t.Run(f.name+"-"+end, func(t *testing.T) {
				var b bytes.Buffer
				if err := Transcript(&b, f.observation(), []bundle.Verdict{f.verdict}, s); err != nil {
					t.Fatal(err)
				}
				golden(t, "transcript-"+f.name+"-"+end+".txt", b.Bytes())
				harmless(t, b.String())
				narrow(t, b.String(), s.Width)
				if !s.Verbose {
					return
				}
				for _, want := range f.want {
					if !strings.Contains(b.String(), want) {
						t.Errorf("%q is missing", want)
					}
				}
			})
		}
	}
}

// harmless fails if text has bytes that a terminal may interpret.
func harmless(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			t.Errorf("%U came through", r)
		}
	}
}

func TestAReportHoldsAnExcerptAroundTheFailure(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			o := f.observation()
			v := f.verdict
			v.Scenario, v.Axes = o.Scenario, o.Axes
			r := &bundle.Report{Exit: 1, Scenarios: []bundle.ScenarioResult{{
				ID: o.Scenario, Axes: o.Axes, Verdict: bundle.Fail, Replay: "assay replay x",
				Rules: []bundle.RuleVerdict{{ID: v.Rule, Level: "must", Verdict: bundle.Fail, Message: v.Message}},
				Reproducers: []bundle.Reproducer{
					{Rule: v.Rule, Kind: bundle.ReproduceReplay, Text: "assay replay x --seed 7", Ran: true, Shown: true},
					{Rule: v.Rule, Kind: bundle.ReproduceShell, Text: "#!/bin/sh\nprintf '```\\000'\n", Ran: true, Output: "pass\nHTTP/1.1 200"},
				},
			}}}
			Annotate(r, []*bundle.Observation{o}, []bundle.Verdict{v}, 56)
			if !strings.Contains(r.Scenarios[0].Transcript, "◀") && f.name != "grpc" {
				t.Errorf("no mark in the excerpt:\n%s", r.Scenarios[0].Transcript)
			}
			narrow(t, r.Scenarios[0].Transcript, 56)
			for _, format := range []string{FormatTerminal, FormatJSON, FormatJUnit, FormatMarkdown} {
				var b bytes.Buffer
				if err := Conform().Render(&b, format, r, Style{Width: 60}); err != nil {
					t.Fatal(err)
				}
				harmless(t, b.String())
				if format == FormatTerminal {
					narrow(t, b.String(), 60)
				}
				golden(t, "excerpt-"+f.name+"-"+format+".txt", b.Bytes())
				for _, want := range []string{"CONNECTION 0", "assay replay x --seed 7", "did not reproduce the failure"} {
					if format != FormatJSON && !strings.Contains(b.String(), want) {
						t.Errorf("%s lacks %q:\n%s", format, want, b.String())
					}
				}
			}
		})
	}
}

func TestABodyIsFoldedWithItsDigest(t *testing.T) {
	var b bytes.Buffer
	if err := Transcript(&b, unaryGzip().observation(), nil, Style{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "bytes folded, sha256 of all") {
		t.Errorf("no fold in\n%s", b.String())
	}
}

func TestManyBytesAreCountedInThousands(t *testing.T) {
	for n, want := range map[int64]string{1: "1 byte", 0: "0 bytes", 999: "999 bytes", 12345: "12,345 bytes", 1234567: "1,234,567 bytes"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
