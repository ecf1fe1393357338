package interpreter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// The types of the lines of an execution.
const (
	TypeCount     = "number_of_executions" // first
	TypeStdout    = "stdout"
	TypeStderr    = "stderr"
	TypeResult    = "result"
	TypeError     = "error"
	TypeKeepalive = "keepalive"
	TypeEnd       = "end_of_execution" // last
)

// Line is one line of an execution. Absent members are left out.
type Line struct {
	Type  string `json:"type"`
	Count int    `json:"execution_count,omitempty"` // of the context, from 1
	// Text is the output of stdout and stderr, with its newlines, or that of a result.
	Text      *string `json:"text,omitempty"`
	Timestamp string  `json:"timestamp,omitempty"` // of stdout and stderr
	*Formats
	Main bool `json:"is_main_result,omitempty"` // the value of the last expression
	*Failure
}

// Formats are the forms of a result beside its text.
type Formats struct {
	HTML       string          `json:"html,omitempty"`
	Markdown   string          `json:"markdown,omitempty"`
	SVG        string          `json:"svg,omitempty"`
	PNG        string          `json:"png,omitempty"`
	JPEG       string          `json:"jpeg,omitempty"`
	PDF        string          `json:"pdf,omitempty"`
	LaTeX      string          `json:"latex,omitempty"`
	JSON       json.RawMessage `json:"json,omitempty"`
	JavaScript string          `json:"javascript,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
	Chart      json.RawMessage `json:"chart,omitempty"`
	Extra      json.RawMessage `json:"extra,omitempty"`
}

// Failure is the error that ended a run.
type Failure struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Traceback string `json:"traceback"`
}

// encode returns the JSON of a line with its newline, in ASCII. Some clients split lines at
// U+0085, U+2028 and U+2029 too, and others break a character that is in two reads.
func (l Line) encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return nil, err
	}
	return ascii(buf.Bytes()), nil
}

// ascii escapes the other characters of a JSON text; they are in strings only.
func ascii(p []byte) []byte {
	if !slices.ContainsFunc(p, func(b byte) bool { return b >= utf8.RuneSelf }) {
		return p
	}
	out := make([]byte, 0, 2*len(p))
	for _, r := range string(p) {
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r <= 0xffff:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
	}
	return out
}

const (
	// keepaliveAfter is the silence after which a keepalive is sent, on the gateway's own clock.
	keepaliveAfter = 5 * time.Second
	// patience is how long a client may take nothing.
	patience = 60 * time.Second
	// maxOutput limits the lines of a run, in bytes.
	maxOutput = 32 << 20
)

// errOutput ends a run that writes too much.
var errOutput = errors.New("the output is longer than 32 MiB")

// lines writes the lines of one execution, each with a flush of its own, and
// keepalives between them.
type lines struct {
	after func(d time.Duration, f func()) (stop func() bool)

	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	stop    func() bool // the next keepalive
	left    int         // bytes that may still be written
	ended   bool
	err     error // of a write: the client has gone
}

// newLines returns the writer; the first keepalive is due after the first line.
func newLines(w http.ResponseWriter, after func(d time.Duration, f func()) (stop func() bool)) *lines {
	return &lines{after: after, w: w, control: http.NewResponseController(w), left: maxOutput}
}

// send writes a line.
func (o *lines) send(l Line) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.write(l)
}

func (o *lines) write(l Line) error {
	if o.ended || o.err != nil {
		return o.err
	}
	p, err := l.encode()
	if err != nil {
		return err
	}
	switch l.Type {
	case TypeStdout, TypeStderr, TypeResult:
		if o.left -= len(p); o.left < 0 {
			return errOutput
		}
	}
	if o.stop != nil {
		o.stop()
	}
	_ = o.control.SetWriteDeadline(time.Now().Add(patience)) // what is not a connection has none
	if _, o.err = o.w.Write(p); o.err == nil {
		o.err = o.control.Flush()
	}
	if l.Type == TypeEnd {
		o.ended = true
		_ = o.control.SetWriteDeadline(time.Time{})
		return o.err
	}
	o.stop = o.after(keepaliveAfter, o.keepalive)
	return o.err
}

// keepalive breaks a silence.
func (o *lines) keepalive() { _ = o.send(Line{Type: TypeKeepalive}) } // a client that has gone is noticed elsewhere

// close ends the keepalives.
func (o *lines) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	if o.stop != nil {
		o.stop()
	}
}
