package reports

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// frameMarks returns the violations inside frame i and the evidence of verdicts there.
func (t *transcript) frameMarks(e *bundle.Exchange, i int) []mark {
	f := &e.Frames[i]
	var out []mark
	for _, v := range e.Violations {
		if v.In != "http" && v.Off >= f.Off && v.Off < frameEnd(e, f) {
			out = append(out, mark{v.Off, "◀ " + line(v.Kind)})
		}
	}
	for _, m := range t.evidence(e) {
		known := slices.ContainsFunc(out, func(o mark) bool { return o.off == m.off })
		if !known && m.off >= f.Off && m.off < frameEnd(e, f) {
			out = append(out, m)
		}
	}
	return out
}

// evidence returns the bytes of a response to which verdicts point.
func (t *transcript) evidence(e *bundle.Exchange) []mark {
	var out []mark
	for _, v := range t.verdicts {
		at := v.Evidence
		if at == nil || at.Off < 0 || v.Conclusion == bundle.Pass || at.Exchange != e.ID || at.Iteration != t.current {
			continue
		}
		m := mark{at.Off, "◀ " + line(v.Rule)}
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

// status adds the outcome of a gRPC response and its location.
func (t *transcript) status(l *timeline, e *bundle.Exchange) {
	g := e.GRPC
	if g == nil {
		return
	}
	place := map[string]string{"trailers": "in the trailers", "headers": "in a headers-only response", "frame": "in a trailer frame"}[g.In]
	text := fmt.Sprintf("grpc-status %d %s %s", g.Code, codeName(g.Code), place)
	if g.Message != "" {
		text += ": " + line(g.Message)
	}
	m := moment{at: answered(e), way: received, head: painted{text, plain}}
	if len(g.Details) > 0 {
		m.lines = append(m.lines, painted{"grpc-status-details-bin, decoded", dim})
		m.lines = append(m.lines, t.bytes(0, g.Details, nil)...)
	}
	l.add(m)
}

// codeName returns the name of a gRPC code.
func codeName(n int) string {
	if c, ok := wire.CodeByNumber(n); ok {
		return c.Name
	}
	if n == 0 {
		return "ok"
	}
	return "(not a gRPC code)"
}

// outputs adds, for each stream whose output differs from the expected one, the first
// different byte and its surroundings.
func (t *transcript) outputs(l *timeline, e *bundle.Exchange) {
	for _, name := range []string{"stdout", "stderr", "pty"} {
		b := e.Outputs[name]
		if b == nil || b.Diff == nil {
			continue
		}
		d := b.Diff
		m := moment{at: answered(e), way: wrong, head: painted{
			fmt.Sprintf("◀ %s differs from the expected output at byte %d of %s", name, d.Off, bytesText(b.Len)), red,
		}}
		for _, side := range []struct {
			what string
			data []byte
		}{{"came", d.Got}, {"expected", d.Want}} {
			m.lines = append(m.lines, painted{side.what, dim})
			if w, ok := around(d.From, side.data, mark{d.Off, "◀ " + side.what}); ok {
				m.lines = append(m.lines, t.bytes(w.base, w.data, w.marks)...)
			} else {
				m.lines = append(m.lines, painted{"nothing", plain})
			}
		}
		l.add(m)
	}
}

// frameMoments lists the frames of an HTTP/2 connection by field. The contents of
// HEADERS and DATA appear with their exchange.
func (t *transcript) frameMoments(l *timeline, c *bundle.Conn, mine []*bundle.Exchange) {
	limit := t.limit(foldH2())
	shown := 0
	for i := range c.H2 {
		f := &c.H2[i]
		if shown == limit {
			l.add(moment{at: f.At, way: noted, head: painted{fmt.Sprintf("… and %s more", plural(len(c.H2)-i, "frame")), dim}})
			return
		}
		if !t.style.Verbose && quiet(f) && len(mine) > 0 || t.only != nil && f.Stream != 0 && f.Stream != t.only.Stream {
			continue
		}
		if t.short && !ending(f) {
			continue
		}
		shown++
		way := received
		if f.Dir == "sent" {
			way = sent
		}
		l.add(moment{at: f.At, way: way, head: painted{frameLine(f), dim}})
	}
}

func foldH2() fold { return fold{24, 200} }

// quiet reports frames that belong to no exchange.
func quiet(f *bundle.H2Frame) bool {
	return f.Stream == 0 && (f.Type == "SETTINGS" || f.Type == "WINDOW_UPDATE" || f.Type == "PING")
}

// ending reports frames that end a stream or a connection, which the exchange does not show.
func ending(f *bundle.H2Frame) bool { return f.Type == "RST_STREAM" || f.Type == "GOAWAY" }

// frameLine describes a frame by field.
func frameLine(f *bundle.H2Frame) string {
	parts := []string{line(f.Type)}
	if names := flagNames(f); names != "" {
		parts = append(parts, names)
	}
	if f.Stream != 0 {
		parts = append(parts, fmt.Sprintf("stream %d", f.Stream))
	}
	parts = append(parts, fmt.Sprintf("length %d", f.Len))
	text := "frame " + strings.Join(parts, " ")
	// The exchange has the fields of HEADERS.
	if f.Detail != "" && f.Type != "HEADERS" {
		text += "  " + line(f.Detail)
	}
	return text
}

// flagNames returns the flags of a frame by name (RFC 9113, section 6); an unnamed
// flag stays a number.
func flagNames(f *bundle.H2Frame) string {
	names := map[string]map[byte]string{
		"DATA":          {0x1: "END_STREAM", 0x8: "PADDED"},
		"HEADERS":       {0x1: "END_STREAM", 0x4: "END_HEADERS", 0x8: "PADDED", 0x20: "PRIORITY"},
		"SETTINGS":      {0x1: "ACK"},
		"PING":          {0x1: "ACK"},
		"CONTINUATION":  {0x4: "END_HEADERS"},
		"PUSH_PROMISE":  {0x4: "END_HEADERS", 0x8: "PADDED"},
		"RST_STREAM":    {},
		"WINDOW_UPDATE": {},
	}[f.Type]
	var out []string
	for bit := byte(1); bit != 0; bit <<= 1 {
		switch name := names[bit]; {
		case f.Flags&bit == 0:
		case name != "":
			out = append(out, name)
		default:
			out = append(out, fmt.Sprintf("0x%x", bit))
		}
	}
	return strings.Join(out, "|")
}
