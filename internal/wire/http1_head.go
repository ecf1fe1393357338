package wire

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

const protoPrefix = "HTTP/1."

// foreign returns the length of the shortest prefix of line that no status line
// has, 0 if line may become one.
func foreign(line []byte) int {
	for i := range min(len(line), len(protoPrefix)) {
		if line[i] != protoPrefix[i] {
			return i + 1
		}
	}
	return 0
}

// statusLine reads: HTTP-version SP 3DIGIT SP [ reason-phrase ] (RFC 9112, section 4).
func (d *ResponseDecoder) statusLine(line []byte) {
	const proto = len("HTTP/1.1")
	const status = proto + len(" 200")
	ok := len(line) >= status && (line[proto-1] == '0' || line[proto-1] == '1') && line[proto] == ' '
	code := 0
	for i := proto + 1; ok && i < status; i++ {
		ok = line[i] >= '0' && line[i] <= '9'
		code = code*10 + int(line[i]) - '0'
	}
	rest := line[min(status, len(line)):]
	if !ok || code < 100 || len(rest) > 0 && rest[0] != ' ' {
		d.lose(HTTPStatusLine, d.lineOff, "the line does not read HTTP/1.x, a space, and three digits")
		return
	}
	if len(rest) == 0 {
		d.violate(HTTPStatusLine, d.lineOff, "the space after the status code is missing")
	} else {
		rest = rest[1:]
	}
	if !httpguts.ValidHeaderFieldValue(string(rest)) {
		d.violate(HTTPStatusLine, d.lineOff, "the reason phrase has control characters")
	}
	d.head.Proto, d.head.Status, d.head.Reason = string(line[:proto]), code, string(rest)
	d.state = stateFields
}

// fieldLine reads one line of a head or trailer section (RFC 9112, section 5)
// into fields; the empty line calls done.
func (d *ResponseDecoder) fieldLine(line []byte, fields *[]Field, done func()) {
	if len(line) == 0 {
		done()
		return
	}
	readField(line, fields, HTTPHeader, HTTPHeader, func(k Kind, format string, args ...any) { d.violate(k, d.lineOff, format, args...) })
}

// readField reads one line that is not empty into fields, leniently (RFC 9112, section 5). It reports a line that continues the
// one before as the kind folded, any other breach as malformed, and returns the name.
func readField(line []byte, fields *[]Field, folded, malformed Kind, violate func(k Kind, format string, args ...any)) (name string) {
	if line[0] == ' ' || line[0] == '\t' {
		violate(folded, "the field line %.64q is folded: it continues the one before", line)
		if n := len(*fields); n > 0 {
			(*fields)[n-1].Value += " " + string(trimOWS(line))
		}
		return ""
	}
	before, after, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		violate(malformed, "the field line %.64q has no colon", line)
		return ""
	}
	name, value := string(before), string(trimOWS(after))
	if !httpguts.ValidHeaderFieldName(name) {
		violate(malformed, "%.64q is not a field name", name)
	}
	if !httpguts.ValidHeaderFieldValue(value) {
		violate(malformed, "the value of %.64q has control characters", name)
	}
	*fields = append(*fields, Field{Name: strings.Trim(name, " \t"), Value: value})
	return name
}

// endHead is called at the empty line after the fields.
func (d *ResponseDecoder) endHead() {
	d.frame()
	if d.OnHead != nil {
		d.OnHead(d.head)
	}
	if d.head.Status == 101 && d.Upgrade != nil && d.Upgrade() {
		d.state, d.interim = stateSwitched, false
		return
	}
	if d.head.Status < 200 {
		d.state, d.interim = stateIdle, true
		return
	}
	switch d.head.Framing {
	case FramingChunked:
		d.state, d.used = stateChunkSize, 0
	case FramingLength:
		d.state, d.remain = stateLength, d.head.Length
		if d.remain == 0 {
			d.end()
		}
	case FramingClose:
		d.state = stateUntilClose
	case FramingNone:
		d.end()
	}
}

// frame determines how the body is delimited (RFC 9112, section 6.3). Its violations
// have the offset of the empty line that ends the head.
func (d *ResponseDecoder) frame() {
	h := &d.head
	coding, hasCoding := combined(h.Fields, "Transfer-Encoding")
	length, hasLength := combined(h.Fields, "Content-Length")
	bodiless := h.Status < 200 || h.Status == 204
	switch {
	case bodiless && (hasCoding || hasLength):
		h.Framing = FramingNone
		d.violate(HTTPFraming, d.lineOff, "a %d response has Content-Length or Transfer-Encoding", h.Status)
	case bodiless || h.Status == 304 || d.method == "HEAD":
		h.Framing = FramingNone
	case hasCoding:
		h.Framing = d.codingFraming(coding, hasLength)
	case hasLength:
		h.Framing = d.lengthFraming(length)
	default:
		h.Framing = FramingClose
	}
}

// codingFraming: only chunked is allowed for a client that has sent no TE
// field (RFC 9112, section 7), and never together with a length (section 6.2).
func (d *ResponseDecoder) codingFraming(coding string, hasLength bool) string {
	h := &d.head
	if hasLength {
		d.violate(HTTPFraming, d.lineOff, "both Transfer-Encoding and Content-Length")
	}
	if h.Proto == "HTTP/1.0" {
		d.violate(HTTPFraming, d.lineOff, "Transfer-Encoding in an HTTP/1.0 response")
	}
	if strings.EqualFold(coding, "chunked") {
		return FramingChunked
	}
	d.violate(HTTPFraming, d.lineOff, "Transfer-Encoding %.64q is not chunked", coding)
	last := coding[strings.LastIndexByte(coding, ',')+1:]
	if strings.EqualFold(strings.Trim(last, " \t"), "chunked") {
		return FramingChunked
	}
	return FramingClose
}

// lengthFraming: a repeated length is valid if all agree.
func (d *ResponseDecoder) lengthFraming(value string) string {
	h := &d.head
	first, rest, repeated := strings.Cut(value, ",")
	length, err := strconv.ParseUint(strings.Trim(first, " \t"), 10, 63)
	agrees := err == nil
	for more := repeated; agrees && more; {
		first, rest, more = strings.Cut(rest, ",")
		n, err := strconv.ParseUint(strings.Trim(first, " \t"), 10, 63)
		agrees = err == nil && n == length
	}
	if !agrees {
		d.violate(HTTPFraming, d.lineOff, "Content-Length %.64q is not one number", value)
		return FramingClose
	}
	if repeated {
		d.violate(HTTPFraming, d.lineOff, "Content-Length %.64q is given more than once", value)
	}
	h.Length = int64(length)
	return FramingLength
}

// combined joins the values of all fields of that name with commas (RFC 9110, section 5.3).
func combined(fields []Field, name string) (value string, ok bool) {
	for _, f := range fields {
		if !strings.EqualFold(f.Name, name) {
			continue
		}
		if ok {
			value += ", "
		}
		value, ok = value+f.Value, true
	}
	return value, ok
}
