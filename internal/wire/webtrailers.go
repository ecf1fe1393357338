package wire

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// DecodeWebTrailers reads the payload of a gRPC-Web trailer frame, after
// decompression ("PROTOCOL-WEB", "Protocol differences vs gRPC over HTTP2"): an
// HTTP/1 header block of `name: value` lines, each ended by CRLF, names in lower
// case, without folding, and without an empty line at the end. The valid parts are
// returned even when there are violations; offsets are relative to payload.
func DecodeWebTrailers(payload []byte) ([]Field, []Violation) {
	var d webTrailers
	for off := 0; off < len(payload); {
		line, ended := payload[off:], false
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line, ended = line[:i+1], true
		}
		d.off = off
		off += len(line)
		text := bytes.TrimSuffix(line, []byte("\n"))
		if n := len(text); n > 0 && text[n-1] == '\r' && ended {
			text = text[:n-1]
		} else {
			d.violate(WebTrailerLine, "a line does not end in CRLF")
		}
		d.line(text)
	}
	return d.fields, d.violations
}

type webTrailers struct {
	off        int // of the current line
	fields     []Field
	violations []Violation
}

func (d *webTrailers) violate(k Kind, format string, args ...any) {
	d.violations = append(d.violations, Violation{Kind: k, Off: int64(d.off), Detail: fmt.Sprintf(format, args...)})
}

// line reads one line without its end.
func (d *webTrailers) line(text []byte) {
	switch {
	case len(text) == 0:
		d.violate(WebTrailerBlankLine, "an empty line")
		return
	case text[0] == ' ' || text[0] == '\t':
		d.violate(WebTrailerFolded, "the line %.64q continues the previous line", text)
		if n := len(d.fields); n > 0 {
			d.fields[n-1].Value += " " + string(trimOWS(text))
		}
		return
	}
	name, value, ok := bytes.Cut(text, []byte(":"))
	if !ok {
		d.violate(WebTrailerLine, "the line %.64q has no colon", text)
		return
	}
	value = trimOWS(value)
	switch {
	case !httpguts.ValidHeaderFieldName(string(name)):
		d.violate(WebTrailerLine, "%.64q is not a field name", name)
	case strings.ToLower(string(name)) != string(name):
		d.violate(WebTrailerCase, "the name %.64q is not in lower case", name)
	}
	if !httpguts.ValidHeaderFieldValue(string(value)) {
		d.violate(WebTrailerLine, "the value of %.64q has control characters", name)
	}
	d.fields = append(d.fields, Field{Name: string(trimOWS(name)), Value: string(value)})
}

// trimOWS removes optional white space at both ends.
func trimOWS(p []byte) []byte { return bytes.Trim(p, " \t") }
