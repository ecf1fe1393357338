package wire

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// What only tests ask of a decoder.

func (d *EnvelopeDecoder) Ended() bool    { return d.ended }
func (d *EnvelopeDecoder) Skipped() int64 { return d.skipped }
func (d *WSDecoder) Ended() bool          { return d.ended }
func (d *WSDecoder) Idle() bool           { return !d.lost && !d.inFrame && d.have == 0 }
func (d *WSDecoder) Skipped() int64       { return d.skipped }

// Switched reports whether a 101 response has ended HTTP on the connection, and where the other protocol begins.
func (d *ResponseDecoder) Switched() (off int64, ok bool) { return d.off, d.state == stateSwitched }

func (d *ResponseDecoder) Skipped() int64 {
	if d.state != stateLost {
		return 0
	}
	return d.off - d.lostOff
}

// A trace lists what a decoder reported, one step per line. The text after detailMark
// is for people; vectors omit it.
const detailMark = "\t# "

type trace struct{ lines []string }

func (t *trace) add(format string, args ...any) {
	t.lines = append(t.lines, fmt.Sprintf(format, args...))
}

func (t *trace) violation(v Violation) {
	t.add("violation %d %s"+detailMark+"%s", v.Off, v.Kind, v.Detail)
}

// body merges pieces: only the bytes of a body matter, not its cuts.
func (t *trace) body(p []byte) {
	const prefix = "body "
	if n := len(t.lines); n > 0 && strings.HasPrefix(t.lines[n-1], prefix) {
		var before string
		if _, err := fmt.Sscanf(t.lines[n-1], "body %q", &before); err == nil {
			t.lines[n-1] = fmt.Sprintf("body %q", before+string(p))
			return
		}
	}
	t.add("body %q", p)
}

// feeder feeds chunks from one buffer and overwrites it after each, to detect a decoder
// that keeps fed bytes.
func feeder(chunks [][]byte, feed func([]byte), after func()) {
	var scratch []byte
	for _, c := range chunks {
		scratch = append(scratch[:0], c...)
		feed(scratch)
		after()
		for i := range scratch {
			scratch[i] = 0xee
		}
	}
}

func traceEnvelopes(chunks [][]byte, limit uint32) ([]string, []Frame) {
	return traceEnvelopesOf(Connect, chunks, limit)
}

func traceEnvelopesOf(p Protocol, chunks [][]byte, limit uint32) ([]string, []Frame) {
	var t trace
	var all, held []Frame
	d := EnvelopeDecoder{Protocol: p, Limit: limit, OnViolation: t.violation}
	d.OnFrame = func(f Frame) {
		held = append(held, f)
		t.add("frame %d 0x%02x %q", f.Off, f.Flags, f.Payload)
	}
	feeder(chunks, d.Feed, func() {
		for _, f := range held { // valid until the next Feed, so copied only now
			f.Payload = slices.Clone(f.Payload)
			all = append(all, f)
		}
		held = held[:0]
	})
	d.Close()
	t.add("ended %t skipped %d", d.Ended(), d.Skipped())
	return t.lines, all
}

func traceLines(chunks [][]byte, limit int) ([]string, []Line) {
	var t trace
	var all, held []Line
	d := LineDecoder{Limit: limit, OnViolation: t.violation}
	d.OnLine = func(l Line) {
		held = append(held, l)
		t.add("line %d %q", l.Off, l.Data)
	}
	settle := func() {
		for _, l := range held {
			l.Data = slices.Clone(l.Data)
			all = append(all, l)
		}
		held = held[:0]
	}
	feeder(chunks, d.Feed, settle)
	d.Close()
	settle()
	return t.lines, all
}

// traceResponses decodes responses to requests with these methods; an empty list means
// that every request is a POST.
func traceResponses(chunks [][]byte, limit int, methods ...string) []string {
	var t trace
	answered := 0
	d := ResponseDecoder{HeadLimit: limit, OnBody: t.body, OnViolation: t.violation}
	if len(methods) > 0 {
		d.Method = func() string {
			if answered >= len(methods) {
				return ""
			}
			return methods[answered]
		}
	}
	d.OnHead = func(h Head) {
		t.add("head %d %s %d %q %s %d", h.Off, h.Proto, h.Status, h.Reason, h.Framing, h.Length)
		for _, f := range h.Fields {
			t.add("field %q %q", f.Name, f.Value)
		}
	}
	d.OnEnd = func(trailers []Field) {
		answered++
		for _, f := range trailers {
			t.add("trailer %q %q", f.Name, f.Value)
		}
		t.add("end")
	}
	feeder(chunks, d.Feed, func() {})
	t.add("idle %t lost %t skipped %d", d.Idle(), d.Lost(), d.Skipped())
	d.Close()
	return t.lines
}

func traceEndStream(p []byte) []string {
	e, violations := DecodeEndStream(p)
	t := &trace{lines: traceErrorValue(e.Error)}
	for _, key := range slices.Sorted(maps.Keys(e.Metadata)) {
		t.add("metadata %q %q", key, e.Metadata[key])
	}
	for _, v := range violations {
		t.violation(v)
	}
	return t.lines
}

func traceError(p []byte) []string {
	e, violations := DecodeError(p)
	t := &trace{lines: traceErrorValue(e)}
	for _, v := range violations {
		t.violation(v)
	}
	return t.lines
}

func traceErrorValue(e *Error) []string {
	var t trace
	if e == nil {
		t.add("no error")
		return t.lines
	}
	t.add("error %q %q", e.Code, e.Message)
	for _, d := range e.Details {
		t.add("detail %q %q", d.Type, d.Value)
	}
	return t.lines
}

// splits yields ways to cut input: whole, every byte alone, every cut in two (64 of
// them for inputs over 1 KiB), and 32 random cuts.
func splits(input []byte, yield func([][]byte) bool) {
	if !yield([][]byte{input}) || !yield(everyByte(input)) {
		return
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(input))))
	step := 1 + len(input)/1024*16
	for i := 1; i < len(input); i += step {
		if !yield([][]byte{input[:i], input[i:]}) {
			return
		}
	}
	for range 32 {
		var chunks [][]byte
		for rest := input; len(rest) > 0; {
			n := 1 + rng.IntN(min(len(rest), 1+rng.IntN(64)))
			chunks = append(chunks, rest[:n])
			rest = rest[n:]
		}
		if !yield(chunks) {
			return
		}
	}
}

func everyByte(input []byte) [][]byte {
	chunks := make([][]byte, len(input))
	for i := range input {
		chunks[i] = input[i : i+1]
	}
	return chunks
}

// assertSplitInvariant checks that every split of input gives the same trace.
func assertSplitInvariant(t *testing.T, input []byte, decode func([][]byte) []string) {
	t.Helper()
	want := decode([][]byte{input})
	splits(input, func(chunks [][]byte) bool {
		if got := decode(chunks); !slices.Equal(got, want) {
			t.Errorf("the split %q changes the result:\n got %q\nwant %q", chunks, got, want)
			return false
		}
		return true
	})
}

// traceStatus decodes a status; input has one field per line, "name: value".
func traceStatus(input []byte) []string {
	var fields []Field
	for line := range strings.Lines(string(input)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		fields = append(fields, Field{Name: name, Value: value})
	}
	return traceFields(fields)
}

func traceFields(fields []Field) []string {
	var t trace
	s, ok, violations := DecodeGRPCStatus(fields)
	for _, v := range violations {
		t.violation(v)
	}
	t.add("status %t %d %q", ok, s.Code, s.Message)
	for _, e := range s.Entries {
		t.add("detail %q %q", e.Type, e.Value)
	}
	for _, f := range s.Metadata {
		t.add("metadata %q %q", f.Name, f.Value)
	}
	return t.lines
}

// traceWebTrailers decodes the payload of a trailer frame, and its status.
func traceWebTrailers(payload []byte) []string {
	var t trace
	fields, violations := DecodeWebTrailers(payload)
	for _, v := range violations {
		t.violation(v)
	}
	t.lines = append(t.lines, traceFields(fields)...)
	return t.lines
}
