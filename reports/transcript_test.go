package reports

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// clock numbers the steps of a made-up observation.
type clock struct{ n, t int64 }

func (c *clock) at(ns int64) bundle.Stamp {
	c.n++
	c.t += ns
	return bundle.Stamp{T: c.t, N: c.n}
}

func (c *clock) ptr(ns int64) *bundle.Stamp { s := c.at(ns); return &s }

// brokenStream is a Start whose response has a reserved flag and bytes after its end.
func brokenStream() *bundle.Observation {
	c := &clock{}
	body := wire.AppendEnvelope(nil, 0, []byte(`{"event":{"start":{"pid":1042}}}`))
	second := int64(len(body))
	body = wire.AppendEnvelope(body, 0x40, []byte(`{"event":{"data":{"stdout":"aGVsbG8K"}}}`))
	last := int64(len(body))
	body = wire.AppendEnvelope(body, wire.FlagEndStream, []byte(`{}`))
	extra := int64(len(body))
	body = append(body, "\x00\x00junk\xff"...)
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\n\r\n"
	answer := append([]byte(head), body...)

	it := bundle.Iteration{Started: c.at(0)}
	conn := bundle.Conn{Remote: "127.0.0.1:8081", Dialed: c.at(50_000), Connected: c.ptr(90_000)}
	request := wire.AppendEnvelope(nil, 0, []byte(`{"process":{"cmd":"/bin/sh","args":["-c","echo hello"]}}`))
	e := bundle.Exchange{
		Name: "send", Op: "send", RPC: "process.Process/Start", Shape: bundle.ShapeStream, Codec: "json",
		Invoked: c.at(10_000), Sent: c.ptr(20_000),
		Request: bundle.Request{
			Method: "POST", Path: "/process.Process/Start",
			Headers: []bundle.Header{{Name: "Content-Type", Value: "application/connect+json"}, {Name: "User-Agent", Value: "assay/0.1.0 (connect.flags; 01JD)"}},
			Body:    bundle.NewBlob(append(request, wire.AppendEnvelope(nil, 0x82, nil)[:5]...), nil),
		},
		Response: &bundle.Response{
			Proto: "HTTP/1.1", Status: 200, Reason: "OK", Framing: "close", Body: int64(len(body)),
			Headers: []bundle.Header{{Name: "Content-Type", Value: "application/connect+json"}, {Name: "X-Note", Value: hostileText}},
			Head:    c.at(800_000),
		},
		Frames: []bundle.Frame{
			{Off: 0, Len: second - 5, At: c.at(1000), Head: body[5:second], Event: 0},
			{Off: second, Flags: 0x40, Len: last - second - 5, At: c.at(300_000), Head: body[second+5 : last], Event: 1},
			{Off: last, Flags: 2, Len: 2, At: c.at(1_500_000), Head: []byte("{}"), Event: -1},
		},
		Events: []bundle.Event{
			{Kind: bundle.EventStart, Frame: 0, PID: 1042},
			{Kind: bundle.EventData, Frame: 1, Stream: "stdout", Len: 6},
		},
		Violations: []bundle.Violation{
			{Kind: "envelope.reserved-flags", In: "body", Off: second, Detail: "flags 0x40 hold bits that are reserved"},
			{Kind: "envelope.bytes-after-end-stream", In: "body", Off: extra, Detail: "7 bytes came after the end of the stream", At: c.at(1000)},
		},
		Outcome: bundle.OutcomeComplete,
	}
	e.Violations[0].At = e.Frames[1].At
	e.Outputs = map[string]*bundle.Blob{"stdout": {Len: 6, Data: []byte("hello\n")}}
	conn.Received = bundle.NewBlob(answer, nil)
	conn.Ended = &bundle.ConnEnd{At: c.at(100_000), By: "peer", How: "fin"}
	e.Response.Ended = c.ptr(1000)
	e.Returned = c.ptr(1000)
	it.Conns, it.Exchanges = []bundle.Conn{conn}, []bundle.Exchange{e}
	it.Awaits = []bundle.Await{{On: "send", What: bundle.Wait{Kind: bundle.WaitEvent, Of: "end"}, Began: c.at(0), Ended: c.at(2e9), Deadline: 2e9}}
	it.Processes = []bundle.Process{{Name: "p", PID: 1042, Cleanup: "killed"}}
	it.Ended = c.at(0)
	return &bundle.Observation{
		Scenario: "connect.flags", Axes: axesJSON, Seed: 7, Ended: c.at(0), Iterations: []bundle.Iteration{it},
		Scrapes: []bundle.Scrape{{Name: "before", Status: 200, Sent: bundle.Stamp{T: 5000}, Body: []byte("x 1\n")}},
	}
}

func brokenVerdicts() []bundle.Verdict {
	return []bundle.Verdict{
		{Rule: "connect.stream.flags", Level: "must", Conclusion: bundle.Fail, Message: "a frame has flags 0x40", Evidence: &bundle.Evidence{Iteration: 0, Exchange: 0, Conn: 0, Off: 37}},
		{Rule: "process.start.first", Level: "must", Conclusion: bundle.Pass, Seen: "start"},
	}
}

// longStream is NDJSON of many lines on one connection, and a second, raw connection.
func longStream() *bundle.Observation {
	o := &bundle.Observation{Scenario: "commands.long", Axes: axesJSON, Iterations: make([]bundle.Iteration, 200)}
	c := &clock{}
	for i := range o.Iterations {
		it := &o.Iterations[i]
		it.Index, it.Started = i, c.at(1000)
		it.Vars = map[string]string{"d": strconv.Itoa(i * 100)}
		e := bundle.Exchange{Name: "p", Op: "start", Surface: "commands", Shape: bundle.ShapeNDJSON, Outcome: bundle.OutcomeReset, Detail: "read: connection reset by peer", Invoked: c.at(10)}
		e.Request = bundle.Request{Method: "POST", Path: "/commands", Body: bundle.NewBlob([]byte(`{"cmd":"seq 1 99"}`), nil)}
		e.Response = &bundle.Response{Proto: "HTTP/1.1", Status: 200, Framing: "chunked", Head: c.at(5000)}
		off := int64(0)
		for j := range 30 {
			data := fmt.Appendf(nil, `{"type":"stdout","data":"%s\n"}`, strings.Repeat("x", j*20))
			e.Frames = append(e.Frames, bundle.Frame{Off: off, Len: int64(len(data)), Head: data, At: c.at(700), Event: j})
			e.Events = append(e.Events, bundle.Event{Kind: bundle.EventData, Stream: "stdout", Off: off, Len: len(data), Frame: j})
			off += int64(len(data)) + 1
		}
		raw := bundle.Conn{ID: 1, Name: "c", Dialed: c.at(10), Ended: &bundle.ConnEnd{At: c.at(90_000), By: "us", How: "rst"}}
		raw.Sent = bundle.NewBlob([]byte("POST / HTTP/1.1\r\n\r\n\x00\x01\x02"), nil)
		raw.Writes = []bundle.Chunk{{Len: 19, At: c.at(1)}, {Off: 19, Len: 3, At: c.at(1)}}
		it.Conns = []bundle.Conn{{ID: 0, Dialed: bundle.Stamp{T: e.Invoked.T - 5, N: e.Invoked.N}}, raw}
		it.Exchanges = []bundle.Exchange{e}
	}
	o.Ended = c.at(1)
	return o
}

func TestTheTranscript(t *testing.T) {
	goldenDrawing(t, "transcript-broken", func(b *bytes.Buffer, s Style) error {
		return Transcript(b, brokenStream(), brokenVerdicts(), s)
	})
}

func TestTheTranscriptOfALongRunIsFolded(t *testing.T) {
	o := longStream()
	verdicts := []bundle.Verdict{{Rule: "x.y", Conclusion: bundle.Fail, Evidence: &bundle.Evidence{Iteration: 150}}}
	var b bytes.Buffer
	if err := Transcript(&b, o, verdicts, Style{Width: 80}); err != nil {
		t.Fatal(err)
	}
	golden(t, "transcript-long-80.txt", b.Bytes())
	text := b.String()
	for _, part := range []string{"ITERATION 151 of 200  d=15000", "… and 197 iterations more", "frames more, ", "the exchange is reset", "we reset (RST)"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing", part)
		}
	}
	if n := strings.Count(text, "\n"); n > 200 {
		t.Errorf("%d lines", n)
	}
	narrow(t, text, 80)
}

func TestTheTranscriptOfManyCallsIsFolded(t *testing.T) {
	t.Parallel()
	o := brokenStream()
	it := &o.Iterations[0]
	for i := range 5000 {
		e, c := it.Exchanges[0], it.Conns[0]
		e.ID, e.Conn, c.ID = len(it.Exchanges), 1000+i, 1000+i
		it.Exchanges, it.Conns = append(it.Exchanges, e), append(it.Conns, c)
	}
	for _, verbose := range []bool{false, true} {
		var b bytes.Buffer
		if err := Transcript(&b, o, brokenVerdicts(), Style{Width: 80, Verbose: verbose}); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"calls more", "connections more"} {
			if !strings.Contains(b.String(), part) {
				t.Errorf("verbose %v: %q is missing", verbose, part)
			}
		}
		if n := strings.Count(b.String(), "\n"); n > 60_000 || !verbose && n > 5_000 {
			t.Errorf("verbose %v: %d lines", verbose, n)
		}
	}
}

// A response that breaks a rule with each of its frames is folded as well, except for the evidence.
func TestTheTranscriptOfManyViolationsIsFolded(t *testing.T) {
	const frames, evidence = 300, 250
	c := &clock{}
	e := bundle.Exchange{Name: "p", Op: "start", Shape: bundle.ShapeStream, Invoked: c.at(0)}
	for i := range int64(frames) {
		e.Frames = append(e.Frames, bundle.Frame{Off: 5 * i, At: c.at(1000), Event: -1})
		e.Violations = append(e.Violations, bundle.Violation{Kind: "event.json", Off: 5 * i, At: c.at(1000), Detail: "the text ends"})
	}
	o := &bundle.Observation{Scenario: "a.b.c", Iterations: []bundle.Iteration{{
		Conns: []bundle.Conn{{Dialed: c.at(0)}}, Exchanges: []bundle.Exchange{e},
	}}}
	v := []bundle.Verdict{{Rule: "r", Conclusion: bundle.Fail, Evidence: &bundle.Evidence{Off: 5 * evidence}}}
	var out bytes.Buffer
	if err := Transcript(&out, o, v, Style{}); err != nil {
		t.Fatal(err)
	}
	drawn, lines := strings.Count(out.String(), "◀ violation"), strings.Count(out.String(), "\n")
	if drawn == 0 || drawn > 50 || lines > 300 {
		t.Errorf("%d violations are drawn, in %d lines", drawn, lines)
	}
	for _, want := range []string{"and 270 violations more", "@1250 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestAViolationIsMarkedUnderItsByte(t *testing.T) {
	var b bytes.Buffer
	if err := Transcript(&b, brokenStream(), nil, Style{Width: 120}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	marked := 0
	for i, l := range lines {
		at := strings.Index(l, "^^ ")
		if at < 0 {
			continue
		}
		marked++
		want := map[string]string{"◀ envelope.reserved-flags": "40", "◀ envelope.bytes-after-end-stream": "00"}[l[at+3:]]
		if above := lines[i-1]; len(above) < at+2 || above[at:at+2] != want {
			t.Errorf("the mark is under %q, want %q:\n%s\n%s", above[min(at, len(above)):], want, above, l)
		}
	}
	if marked != 2 {
		t.Errorf("%d bytes are marked, want 2:\n%s", marked, b.String())
	}
}

func TestTheMarkIsFoundAlsoWhenOnlyFramesAreKept(t *testing.T) {
	o := brokenStream()
	o.Iterations[0].Conns[0].Received = bundle.Blob{Len: 1 << 30}
	var b bytes.Buffer
	if err := Transcript(&b, o, nil, Style{Width: 120}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "40 00 00 00 28 7b") || !strings.Contains(b.String(), "^^ ◀ envelope.reserved-flags") {
		t.Errorf("no mark in\n%s", b.String())
	}
}

func TestACompressedFrameIsShownAsItReads(t *testing.T) {
	o := brokenStream()
	e := &o.Iterations[0].Exchanges[0]
	e.Violations = nil
	e.Frames[1].Flags, e.Frames[1].Len = wire.FlagCompressed, 9
	var b bytes.Buffer
	if err := Transcript(&b, o, nil, Style{Width: 120}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "flags 01 compressed  length 9") || !strings.Contains(b.String(), `{"event":{"data":{"stdout":"aGVsbG8K"}}}`) {
		t.Errorf("got\n%s", b.String())
	}
}

func TestATranscriptBearsAnything(t *testing.T) {
	odd := []*bundle.Observation{
		{},
		{Skip: &bundle.Skip{Reason: bundle.SkipFeature, Detail: "process.pty"}, Interrupted: true, Defect: hostileText},
		{Iterations: []bundle.Iteration{{Exchanges: []bundle.Exchange{{Conn: -1, Outcome: bundle.OutcomeNoConnect, Detail: hostileText}}}}},
		{Iterations: []bundle.Iteration{{
			Conns: []bundle.Conn{{DialError: hostileText, Writes: []bundle.Chunk{{Off: 9, Len: 99}}}},
			Exchanges: []bundle.Exchange{{
				Frames:     []bundle.Frame{{Event: 9, Len: 1 << 40, Head: []byte(hostileText)}, {Event: -7}},
				Events:     []bundle.Event{{Kind: bundle.EventEnd}, {Kind: hostileText}},
				Violations: []bundle.Violation{{Kind: hostileText, Off: 1 << 50, Detail: hostileText}, {In: "http", Off: -4}, {Off: 3}},
				Request:    bundle.Request{Body: bundle.Blob{Len: 9}, Headers: []bundle.Header{{Name: hostileText, Value: hostileText}}},
			}},
		}}},
	}
	for i, o := range odd {
		for _, s := range []Style{{}, {Width: 60, Verbose: true}, {Width: 200}} {
			var b bytes.Buffer
			if err := Transcript(&b, o, []bundle.Verdict{{Rule: hostileText, Message: hostileText, Evidence: &bundle.Evidence{Iteration: 99}}}, s); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(b.String(), "\x1b\x07\x00\u202e\u009b") {
				t.Errorf("%d: a control character came through", i)
			}
		}
	}
}

func FuzzTranscript(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"), []byte{0, 0, 0, 0, 1, 'x'}, int64(3))
	f.Fuzz(func(t *testing.T, got, sent []byte, off int64) {
		o := brokenStream()
		it := &o.Iterations[0]
		it.Conns[0].Received = bundle.NewBlob(got, nil)
		e := &it.Exchanges[0]
		e.Request.Body = bundle.NewBlob(sent, nil)
		e.Frames[1].Head = got
		e.Violations[0].Off, e.Violations[1].Off, e.Violations[1].In = off, off, "http"
		var b bytes.Buffer
		if err := Transcript(&b, o, nil, Style{Width: 60}); err != nil {
			t.Fatal(err)
		}
	})
}
