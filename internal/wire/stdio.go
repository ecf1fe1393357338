package wire

import (
	"encoding/json"
	"fmt"
	"strconv"

	"assay/internal/base/strictjson"
)

// The streams of stdio over WebSocket: the first byte of a binary message of the server.
const (
	StdioStdout byte = 1
	StdioStderr byte = 2
)

// The types of the server's text messages.
const (
	StdioExit   = "exit"
	StdioError  = "error"
	StdioOpened = "opened" // of a pane
	StdioClosed = "closed" // of a pane
)

// StdioMessage is one message of a server of stdio over WebSocket.
type StdioMessage struct {
	// Type is the type of a text message as sent, "" for output.
	Type string
	// Stream is the first byte of output as sent, and Data the rest, which shares the memory of the
	// payload.
	Stream byte
	Data   []byte
	// Code is the exit code of StdioExit and StdioClosed.
	Code int
	// Message is the text of StdioError.
	Message string
	// Pane is the name in StdioOpened and StdioClosed.
	Pane string
	// Stdout and Stderr are the streams of the pane in StdioOpened.
	Stdout, Stderr byte
}

// StdioDecoder is a strict decoder of the messages of one server. The zero value is ready
// for a server without panes.
type StdioDecoder struct {
	// Panes says that the server has panes: it announces a pane and its streams by StdioOpened before
	// their output, and its end by StdioClosed.
	Panes bool

	opened [256]bool // the streams of panes
}

// Decode decodes one text or binary message. A binary message is output, also if it reads
// like JSON; a text message is one JSON object with a type, whose other members are
// ignored. The valid parts are returned even when there are violations; offsets are
// relative to the payload. Output is decoded without allocation.
func (d *StdioDecoder) Decode(op WSOpcode, payload []byte) (StdioMessage, []Violation) {
	if op == WSText {
		t := stdioText{decoder: d}
		t.decode(payload)
		return t.m, t.violations
	}
	if len(payload) == 0 {
		return StdioMessage{}, []Violation{{Kind: StdioEmpty, Detail: "a binary message of no bytes has no stream"}}
	}
	m := StdioMessage{Stream: payload[0], Data: payload[1:]}
	if m.Stream == StdioStdout || m.Stream == StdioStderr || d.opened[m.Stream] {
		return m, nil
	}
	detail := fmt.Sprintf("stream 0x%02x is neither stdout (0x01) nor stderr (0x02)", m.Stream)
	if d.Panes {
		detail += ", nor of a pane that was opened"
	}
	return m, []Violation{{Kind: StdioStream, Detail: detail}}
}

// stdioText decodes one text message.
type stdioText struct {
	jsonDecoder
	decoder *StdioDecoder
	object  strictjson.Value
	m       StdioMessage
}

func (t *stdioText) decode(p []byte) {
	var ok bool
	if t.object, ok = t.jsonDecoder.object(p, StdioJSON); !ok {
		return
	}
	t.m.Type = t.text("type", StdioType)
	switch {
	case t.m.Type == StdioExit:
		t.m.Code = t.integer("code", -1<<31, 1<<31-1)
	case t.m.Type == StdioError:
		t.m.Message = t.text("message", StdioMember)
	case t.m.Type == StdioOpened && t.decoder.Panes:
		t.m.Pane = t.text("pane", StdioMember)
		t.m.Stdout, t.m.Stderr = t.stream("stdout"), t.stream("stderr")
	case t.m.Type == StdioClosed && t.decoder.Panes:
		t.m.Pane = t.text("pane", StdioMember)
		t.m.Code = t.integer("code", -1<<31, 1<<31-1)
	case t.member("type").Kind() == strictjson.String:
		t.violate(StdioType, t.member("type").Off, "%.64q is no type of a server's message", t.m.Type)
	}
}

// member returns the value of a member, the zero Value if there is none; the last one if it
// is repeated.
func (t *stdioText) member(name string) (v strictjson.Value) {
	for m := range t.object.Members() {
		if string(m.Name) == name {
			v = m.Value
		}
	}
	return v
}

// text returns a member that is a string.
func (t *stdioText) text(name string, k Kind) string {
	v := t.member(name)
	if v.Kind() != strictjson.String {
		t.violate(k, max(t.object.Off, v.Off), "%s is %s, not a string", name, orAbsent(v))
	}
	return v.Text()
}

// integer returns a member that is an integer, in any notation.
func (t *stdioText) integer(name string, lo, hi int64) int {
	v := t.member(name)
	n, ok := v.Int(lo, hi)
	if !ok {
		what := orAbsent(v)
		if v.Kind() == strictjson.Number {
			what = string(v.Raw[:min(len(v.Raw), 64)])
		}
		k := StdioMember
		if name == "code" {
			k = StdioExitCode
		}
		t.violate(k, max(t.object.Off, v.Off), "%s is %s, not an integer from %d to %d", name, what, lo, hi)
	}
	return int(n)
}

// stream returns the number of a pane's stream and makes it known.
func (t *stdioText) stream(name string) byte {
	before := len(t.violations)
	n := byte(t.integer(name, 0, 255))
	if len(t.violations) == before {
		t.decoder.opened[n] = true
	}
	return n
}

// orAbsent names the kind of a member for error texts.
func orAbsent(v strictjson.Value) string {
	if v.Kind() == strictjson.Invalid {
		return "absent"
	}
	return v.Kind().String()
}

// AppendStdioOutput appends the payload of a server's binary message to dst.
func AppendStdioOutput(dst []byte, stream byte, data []byte) []byte {
	return append(append(dst, stream), data...)
}

// AppendStdioExit appends the payload of a server's exit message to dst.
func AppendStdioExit(dst []byte, code int) []byte {
	return append(strconv.AppendInt(append(dst, `{"type":"exit","code":`...), int64(code), 10), '}')
}

// AppendStdioResize appends the payload of a client's resize message to dst.
func AppendStdioResize(dst []byte, cols, rows int) []byte {
	dst = strconv.AppendInt(append(dst, `{"type":"resize","cols":`...), int64(cols), 10)
	dst = strconv.AppendInt(append(dst, `,"rows":`...), int64(rows), 10)
	return append(dst, '}')
}

// AppendStdioSignal appends the payload of a client's signal message to dst. The name is
// that of POSIX: SIGINT.
func AppendStdioSignal(dst []byte, name string) []byte {
	return append(appendString(append(dst, `{"type":"signal","signal":`...), name), '}')
}

// AppendStdioEOF appends the payload of a client's message to dst that ends stdin.
func AppendStdioEOF(dst []byte) []byte { return append(dst, `{"type":"eof"}`...) }

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil { // a string always has a JSON form
		return append(dst, `""`...)
	}
	return append(dst, quoted...)
}
