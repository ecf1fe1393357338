package reports

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// answer is an exchange with the kept bytes of its response.
type answer struct {
	*bundle.Exchange
	conn *bundle.Blob // bytes received on its connection
	body []byte       // of the response
}

// exchangeMoments adds one request and its response. named is set if the connection
// carried several exchanges.
func (t *transcript) exchangeMoments(l *timeline, a answer, named bool) {
	e := a.Exchange
	t.request(l, e, named)
	t.response(l, e)
	t.frames(l, a)
	t.body(l, e)
	t.status(l, e)
	t.outputs(l, e)
	t.complete(l, e)
	t.violations(l, a)
	if e.Outcome != bundle.OutcomeComplete {
		text := "the exchange is " + line(string(e.Outcome))
		if e.Detail != "" {
			text += ": " + line(e.Detail)
		}
		l.add(moment{at: answered(e), way: noted, head: painted{text, yellow}})
	}
}

// answered returns the time at which the response was complete, or the time of its last known part.
func answered(e *bundle.Exchange) bundle.Stamp {
	switch {
	case e.Response != nil && e.Response.Ended != nil:
		return *e.Response.Ended
	case e.Returned != nil:
		return *e.Returned
	case len(e.Frames) > 0:
		return e.Frames[len(e.Frames)-1].At
	case e.Response != nil:
		return e.Response.Head
	case e.Sent != nil:
		return *e.Sent
	}
	return e.Invoked
}

func (t *transcript) request(l *timeline, e *bundle.Exchange, named bool) {
	head := strings.TrimSpace(line(e.Request.Method) + " " + line(e.Request.Path))
	if head == "" {
		head = line(e.Op)
	}
	if named {
		head += "   (" + line(e.Name) + ")"
	}
	m := moment{at: e.Invoked, way: sent, head: painted{head, bold}}
	fields := e.Request.Headers
	if t.short {
		fields = slices.DeleteFunc(slices.Clone(fields), func(h bundle.Header) bool { return !t.told[strings.ToLower(h.Name)] })
	}
	m.lines = t.headers(fields)
	for _, p := range sentPieces(e) {
		colour := dim
		if p.bad {
			colour = yellow
		}
		m.lines = append(m.lines, painted{fmt.Sprintf("@%-5d %s", p.off, p.head), colour})
		for _, b := range t.bytes(p.off, p.data, nil) {
			m.lines = append(m.lines, painted{"       " + cut(b.text, t.n-stampColumns-9), b.tint})
		}
	}
	l.add(m)
}

func (t *transcript) headers(hs []bundle.Header) []painted {
	var out []painted
	for _, h := range hs {
		for i, text := range wrap(line(h.Name)+": "+line(h.Value), t.n-stampColumns-4) {
			if i > 0 {
				text = "  " + text
			}
			out = append(out, painted{text, dim})
		}
	}
	return out
}

func (t *transcript) response(l *timeline, e *bundle.Exchange) {
	r := e.Response
	if r == nil {
		return
	}
	for _, status := range r.Informational {
		l.add(moment{at: r.Head, way: received, head: painted{fmt.Sprintf("%s %d", line(r.Proto), status), dim}})
	}
	head := fmt.Sprintf("%s %d %s", line(r.Proto), r.Status, line(r.Reason))
	l.add(moment{at: r.Head, way: received, head: painted{strings.TrimSpace(head), bold}, lines: t.headers(r.Headers)})
	if len(r.Trailers) > 0 {
		l.add(moment{at: answered(e), way: received, head: painted{"trailers", bold}, lines: t.headers(r.Trailers)})
	}
}

// body draws a response without frames.
func (t *transcript) body(l *timeline, e *bundle.Exchange) {
	if e.Body == nil || e.Body.Len == 0 || len(e.Frames) > 0 {
		return
	}
	_, data := known(e.Body, 0)
	text := "body  " + size(e.Body.Len)
	if how := e.Response.Get("Content-Encoding"); len(how) > 0 && e.Response.Body != e.Body.Len {
		text += fmt.Sprintf("  decoded of %s %s", size(e.Response.Body), line(strings.Join(how, ", ")))
	}
	m := moment{at: answered(e), way: received, head: painted{text, plain}}
	if marks := t.evidence(e); len(marks) > 0 {
		m.lines = t.marks(0, data, marks)
	} else {
		m.lines = t.bytes(0, data, nil)
	}
	l.add(m)
}

func (t *transcript) complete(l *timeline, e *bundle.Exchange) {
	r := e.Response
	if r == nil || r.Ended == nil {
		return
	}
	text := fmt.Sprintf("response complete: %s, %s", size(r.Body), framingText(r.Framing))
	l.add(moment{at: *r.Ended, way: noted, head: painted{text, dim}})
}

func framingText(framing string) string {
	switch framing {
	case "chunked":
		return "chunked"
	case "length":
		return "by its length"
	case "close":
		return "by connection close"
	case "stream":
		return "by END_STREAM"
	case "upgrade":
		return "by a close frame"
	}
	return "no body"
}

// frames draws the first and the last frames of a response, some of those that break a rule, and
// counts the others.
func (t *transcript) frames(l *timeline, a answer) {
	e := a.Exchange
	limit := t.limit(foldFrames())
	first, last := len(e.Frames), len(e.Frames)
	if len(e.Frames) > limit {
		first, last = limit*2/3, len(e.Frames)-limit/3
	}
	shown := t.evidence(e)
	room := t.limit(foldMarks())
	for i := range e.Frames {
		f := &e.Frames[i]
		if i == first {
			var n int64
			for _, f := range e.Frames[first:last] {
				n += f.Len
			}
			l.add(moment{at: f.At, way: received, head: painted{fmt.Sprintf("… and %s more, %s", plural(last-first, "frame"), size(n)), dim}})
		}
		if i < first || i >= last {
			l.add(t.frame(a, i))
			continue
		}
		proof := slices.ContainsFunc(shown, func(m mark) bool { return m.off >= f.Off && m.off < frameEnd(e, f) })
		if proof || room > 0 && len(t.frameMarks(e, i)) > 0 {
			l.add(t.frame(a, i))
			room--
		}
	}
}

// frame draws one frame: its offset, header, event and payload. If a rule is broken in
// it, it draws the raw bytes with the header, so that a mark points to its byte.
func (t *transcript) frame(a answer, i int) moment {
	f := &a.Frames[i]
	m := moment{at: f.At, way: received, head: painted{frameText(a.Exchange, f), plain}}
	marks := t.frameMarks(a.Exchange, i)
	if len(marks) > 0 && (!t.short || !isText(f.Head)) {
		m.lines = t.marks(f.Off, a.bytesOf(f), marks)
		return m
	}
	off := frameEnd(a.Exchange, f) - f.Len
	compressed := !a.Switched() && f.Flags&wire.FlagCompressed != 0
	if compressed && int64(len(f.Head)) != f.Len {
		m.head.text += "  decoded:"
	}
	m.lines = t.bytes(off, f.Head, nil)
	if more := f.Len - int64(len(f.Head)); more > 0 && !compressed {
		m.lines = append(m.lines, painted{"… " + size(more) + " more", dim})
	}
	for _, k := range marks {
		m.lines = append(m.lines, painted{fmt.Sprintf("%s at byte %d", k.text, k.off), red})
	}
	return m
}

func frameText(e *bundle.Exchange, f *bundle.Frame) string {
	text := fmt.Sprintf("@%-5d ", f.Off)
	switch {
	case e.Shape.Lines():
		text += fmt.Sprintf("line  length %d", f.Len)
	case e.Switched():
		text += socketText(socketHead(f))
	default:
		text += frameFlags(e, f)
	}
	switch {
	case f.Event >= 0 && f.Event < len(e.Events):
		text += "  " + eventText(e, &e.Events[f.Event])
	case e.Switched() && e.Closing != nil && e.Closing.At == f.At:
		text += fmt.Sprintf("  code %d", e.Closing.Code)
	case !e.Switched() && f.Flags&wire.FlagEndStream != 0 && e.Error != nil:
		text += "  error " + line(e.Error.Code)
	}
	return text
}

// webTrailers is the flag of the trailer frame in gRPC-Web, reserved in the other
// protocols. gRPC-Web has no end-stream flag.
const webTrailers = 0x80

// frameFlags describes the flags of an envelope in the terms of its protocol.
func frameFlags(e *bundle.Exchange, f *bundle.Frame) string {
	if e.Protocol == call.GRPCWeb && f.Flags&^wire.FlagCompressed == webTrailers {
		return strings.Replace(envelopeText(f.Flags, f.Len), "reserved bits", "trailers", 1)
	}
	return envelopeText(f.Flags, f.Len)
}

// bytesOf returns the raw bytes of a frame, as far as they were kept.
func (a answer) bytesOf(f *bundle.Frame) []byte {
	end := frameEnd(a.Exchange, f)
	switch {
	case f.Off >= 0 && end >= f.Off && end <= int64(len(a.body)):
		return a.body[f.Off:end]
	case a.Shape.Lines():
		return f.Head
	case a.Switched():
		return append(wire.AppendWSHead(nil, socketHead(f)), f.Head...)
	case f.Flags&wire.FlagCompressed != 0:
		return nil // only the decompressed payload was kept
	}
	data := wire.AppendEnvelope(nil, f.Flags, f.Head)
	binary.BigEndian.PutUint32(data[1:], uint32(min(max(f.Len, 0), math.MaxUint32)))
	return data
}

// marks draws the windows around violations.
func (t *transcript) marks(off int64, data []byte, marks []mark) []painted {
	var out []painted
	for _, m := range marks {
		if d, ok := around(off, data, m); ok {
			out = append(out, t.bytes(d.base, d.data, d.marks)...)
			continue
		}
		out = append(out, painted{fmt.Sprintf("@%d ◀ %s", m.off, m.text), red})
	}
	return out
}

// eventText describes the event of a frame, with its output if that was kept.
func eventText(e *bundle.Exchange, ev *bundle.Event) string {
	switch ev.Kind {
	case bundle.EventStart:
		return fmt.Sprintf("start  pid %d", ev.PID)
	case bundle.EventData:
		text := fmt.Sprintf("data  %s %d..%d", line(ev.Stream), ev.Off, ev.Off+int64(ev.Len))
		if p := outputOf(e, ev); len(p) > 0 {
			text += "  " + cut(line(strconv.Quote(string(p))), 24)
		}
		return text
	case bundle.EventEnd:
		if e.Shape == bundle.ShapeExecute {
			return "end" // it has no exit code
		}
		return exitText(ev.Exit)
	default: // keepalives and unknown kinds
		return line(string(ev.Kind))
	}
}

func exitText(x *bundle.Exit) string {
	if x == nil {
		return "end"
	}
	text := fmt.Sprintf("end  exit %d  %s", x.Code, line(x.Status))
	if x.Error != nil {
		text += "  error " + line(strconv.Quote(*x.Error))
	}
	return text
}

// outputOf returns the first bytes of a data event, nil when they were not kept.
func outputOf(e *bundle.Exchange, ev *bundle.Event) []byte {
	b := e.Outputs[ev.Stream]
	if b == nil {
		return nil
	}
	data := b.Head
	if b.Whole() {
		data = b.Data
	}
	from, to := ev.Off, ev.Off+int64(min(ev.Len, 64))
	if from < 0 || to < from || to > int64(len(data)) {
		return nil
	}
	return data[from:to]
}

// violations adds each violation at its time, with the bytes of those outside any
// frame, if they were kept.
func (t *transcript) violations(l *timeline, a answer) {
	limit := t.limit(foldMarks())
	for i, v := range a.Violations {
		if i == limit {
			l.add(moment{at: v.At, way: wrong, head: painted{fmt.Sprintf("… and %s more", plural(len(a.Violations)-i, "violation")), red}})
			break
		}
		place, base, data := "of the body", int64(0), a.body
		if v.In == "http" {
			place = "of the connection"
			base, data = known(a.conn, v.Off)
		}
		m := moment{at: v.At, way: wrong, head: painted{
			fmt.Sprintf("◀ violation  %s at byte %d %s: %s", line(v.Kind), v.Off, place, line(v.Detail)), red,
		}}
		if v.In == "http" || !inFrame(a.Exchange, v.Off) {
			if d, ok := around(base, data, mark{v.Off, "◀ " + line(v.Kind)}); ok {
				m.lines = t.bytes(d.base, d.data, d.marks)
			}
		}
		l.add(m)
	}
}

// inFrame reports whether a byte of the body belongs to a frame, which already has
// the mark.
func inFrame(e *bundle.Exchange, off int64) bool {
	for i := range e.Frames {
		if f := &e.Frames[i]; off >= f.Off && off < frameEnd(e, f) {
			return true
		}
	}
	return false
}

func frameEnd(e *bundle.Exchange, f *bundle.Frame) int64 {
	switch {
	case e.Shape.Lines():
		return f.Off + f.Len
	case e.Switched():
		return f.Off + int64(len(wire.AppendWSHead(nil, socketHead(f)))) + f.Len
	}
	return f.Off + wire.HeaderSize + f.Len
}
