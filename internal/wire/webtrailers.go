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
	if len(text) == 0 {
		d.violate(WebTrailerBlankLine, "an empty line")
		return
	}
	name := readField(text, &d.fields, WebTrailerFolded, WebTrailerLine, d.violate)
	if strings.ToLower(name) != name && httpguts.ValidHeaderFieldName(name) {
		d.violate(WebTrailerCase, "the name %.64q is not in lower case", name)
	}
}

// trimOWS removes optional white space at both ends.
func trimOWS(p []byte) []byte { return bytes.Trim(p, " \t") }
