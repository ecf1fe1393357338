package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"unicode/utf8"

	"assay/fakes/virtual"
)

// line is one line of the NDJSON alias.
type line struct {
	Type     string  `json:"type"`
	PID      uint32  `json:"pid,omitempty"`
	Data     *string `json:"data,omitempty"`
	ExitCode *int32  `json:"exit_code,omitempty"`
	Code     string  `json:"code,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// lineWriter writes events as NDJSON lines, each flushed on its own.
type lineWriter struct {
	w http.ResponseWriter
	// part is the incomplete character at the end of the output so far, per
	// stream: a character is never split across lines.
	part [virtual.PTY + 1][]byte
}

var _ EventSink = (*lineWriter)(nil)

func (l *lineWriter) Send(e Event) error {
	switch e.Kind {
	case EventStart:
		return l.write(line{Type: "start", PID: e.PID}, e.More)
	case EventData:
		s := e.Chunk.Stream
		whole, part := splitText(append(l.part[s], e.Chunk.Data...))
		l.part[s] = bytes.Clone(part)
		return l.text(s, whole, e.More)
	case EventEnd:
		for _, s := range []virtual.Stream{virtual.Stdout, virtual.Stderr} {
			if err := l.text(s, l.part[s], true); err != nil {
				return err
			}
		}
		return l.write(line{Type: "end", ExitCode: &e.End.Code}, false)
	default:
		return nil // the alias has no keepalives
	}
}

// text writes output; the JSON encoder replaces each invalid byte by U+FFFD.
func (l *lineWriter) text(s virtual.Stream, p []byte, more bool) error {
	if len(p) == 0 {
		return nil
	}
	name, data := "stdout", string(p)
	if s == virtual.Stderr {
		name = "stderr"
	}
	return l.write(line{Type: name, Data: &data}, more)
}

func (l *lineWriter) write(v line, more bool) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // adds a newline
		return err
	}
	if _, err := l.w.Write(buf.Bytes()); err != nil {
		return err
	}
	if more {
		return nil
	}
	return http.NewResponseController(l.w).Flush()
}

// splitText splits p before an incomplete character at its end that more bytes
// could complete.
func splitText(p []byte) (whole, part []byte) {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		tail := p[len(p)-n:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return p[:len(p)-n], tail
			}
			break
		}
	}
	return p, nil
}
