package wire

import (
	"bytes"
	"strings"

	"assay/internal/base/strictjson"
)

// Line is one NDJSON line without its newline; Data is valid until the next Feed.
type Line struct {
	Off  int64
	Data []byte
}

// LineDecoder is an incremental, strict decoder of NDJSON: one JSON object per
// line, each line ended by a newline (a carriage return before it is white
// space, and legal). The zero value is ready. A line that is not one JSON
// object is reported and delivered; an empty line is only reported; a line over the
// limit is discarded.
type LineDecoder struct {
	// Limit is the longest accepted line, in bytes without the newline; 0 means DefaultLimit.
	Limit int
	// Reserve is called with the new length of a buffered line before a piece of it is buffered.
	// If it returns false, the line is discarded. nil allows all.
	Reserve func(n int) bool
	// OnLine is called for every nonempty line, after its violations.
	OnLine func(Line)
	// OnViolation is called for every violation, in the order of offsets; at most
	// once per line for its JSON and once for its UTF-8.
	OnViolation func(Violation)

	off     int64 // of the next byte
	start   int64 // of the current line
	over    bool  // the current line is over the limit
	cut     cutBuffer
	scanner strictjson.Scanner
}

// Feed decodes p, the continuation of the previous input. Lines that are complete in
// p are delivered as subslices of it.
func (d *LineDecoder) Feed(p []byte) {
	d.cut.swap()
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			d.keep(p)
			d.off += int64(len(p))
			return
		}
		d.keepWithin(p[:end])
		d.off += int64(end) + 1
		p = p[end+1:]
		d.start = d.off
	}
}

// keepWithin adds the last bytes of the current line.
func (d *LineDecoder) keepWithin(last []byte) {
	if len(d.cut.bytes()) == 0 && !d.over && len(last) <= d.limit() {
		d.line(last)
		return
	}
	d.keep(last)
	if !d.over {
		d.line(d.cut.take())
	}
	d.over = false
}

// keep collects a part of a line, unless the line exceeds the limit.
func (d *LineDecoder) keep(p []byte) {
	if d.over {
		return
	}
	if len(d.cut.bytes())+len(p) > d.limit() {
		d.over = true
		d.cut.drop()
		d.violate(LineOverLimit, d.start, "the line is over the limit of %d bytes", d.limit())
		return
	}
	if d.Reserve != nil && !d.Reserve(len(d.cut.bytes())+len(p)) {
		d.over = true
		d.cut.drop()
		return
	}
	d.cut.append(p)
}

func (d *LineDecoder) line(data []byte) {
	if len(bytes.TrimLeft(data, " \t\r")) == 0 {
		d.violate(LineEmpty, d.start, "an empty line is not an event")
		return
	}
	d.check(data)
	if d.OnLine != nil {
		d.OnLine(Line{Off: d.start, Data: data})
	}
}

func (d *LineDecoder) check(data []byte) {
	v, problems := d.scanner.Scan(data)
	if len(problems) == 0 && v.Kind() != strictjson.Object {
		d.violate(LineJSON, d.start+int64(v.Off), "the line is %s, not an object", v.Kind())
		return
	}
	var said [2]bool
	for _, p := range problems {
		kind, i := LineJSON, 0
		if p.Reason == strictjson.UTF8 {
			kind, i = LineUTF8, 1
		}
		if !said[i] {
			said[i] = true
			d.violate(kind, d.start+int64(p.Off), "%s", p.Detail)
		}
	}
}

// Close ends the input; an unterminated last line is delivered and reported. The decoder
// must not be fed again.
func (d *LineDecoder) Close() {
	if d.off == d.start {
		return
	}
	if !d.over {
		d.line(d.cut.take())
	}
	d.violate(LineUnterminated, d.off, "the input ends without a newline")
	d.start = d.off
}

func (d *LineDecoder) limit() int {
	if d.Limit <= 0 {
		return DefaultLimit
	}
	return d.Limit
}

func (d *LineDecoder) violate(k Kind, off int64, format string, args ...any) {
	report(d.OnViolation, k, off, format, args...)
}

// NDJSONType reports whether a media type, in lower case and without parameters, is one with which servers send NDJSON. None is registered.
func NDJSONType(t string) bool {
	switch t {
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
		"application/jsonlines", "application/json-lines", "application/json", "text/plain":
		return true
	}
	return strings.HasSuffix(t, "+ndjson") || strings.HasSuffix(t, "+json-seq")
}
