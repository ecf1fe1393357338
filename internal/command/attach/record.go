package attach

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"assay/internal/base/secret"
)

// Recording writes a session as an asciicast of version 2: a header, then one line for each piece of
// output ("o"), new size ("r") and reconnect ("m"). Input is not recorded: it contains passwords. Output that is
// not UTF-8 is recorded as U+FFFD, and the secrets of the run as asterisks. The first failure to
// write ends the recording; Err reports it. A nil Recording records nothing.
type Recording struct {
	to     io.Writer
	clock  Clock
	redact *secret.Redactor

	mu    sync.Mutex
	begun time.Time
	tail  []byte // the beginning of a character
	err   error
}

// RecordingOptions describe a recording.
type RecordingOptions struct {
	// Size is that of the terminal, Title the command, and Term the value of TERM.
	Size  Size
	Title string
	Term  string
	// Redact overwrites the secrets of the run; nil overwrites nothing.
	Redact *secret.Redactor
	// Clock is the time; the zero value is that of the machine.
	Clock Clock
}

// castHeader is the first line of an asciicast.
type castHeader struct {
	Version   int               `json:"version"`
	Width     int               `json:"width"`
	Height    int               `json:"height"`
	Timestamp int64             `json:"timestamp"`
	Title     string            `json:"title,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
}

// NewRecording writes the header of a recording.
func NewRecording(to io.Writer, o RecordingOptions) *Recording {
	r := &Recording{to: to, clock: o.Clock.orReal(), redact: o.Redact}
	r.begun = r.clock.Now()
	if o.Size.Cols <= 0 || o.Size.Rows <= 0 {
		o.Size = Size{80, 24}
	}
	h := castHeader{Version: 2, Width: o.Size.Cols, Height: o.Size.Rows, Timestamp: r.begun.Unix(), Title: o.Redact.Text(o.Title)}
	if o.Term != "" {
		h.Env = map[string]string{"TERM": o.Term}
	}
	r.line(h)
	return r
}

// Output records output.
func (r *Recording) Output(p []byte) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p = append(r.tail, p...)
	whole := len(p) - cutCharacter(p)
	r.tail = append([]byte(nil), p[whole:]...)
	if whole > 0 {
		r.event("o", string(r.redact.Bytes(p[:whole])))
	}
}

// Resized records a new size of the terminal.
func (r *Recording) Resized(to Size) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.event("r", fmt.Sprintf("%dx%d", to.Cols, to.Rows))
}

// Mark records a named moment.
func (r *Recording) Mark(name string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.event("m", name)
}

// Close records what is left, and returns the failure that ended the recording, if one did.
func (r *Recording) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tail) > 0 {
		r.event("o", string(r.tail))
		r.tail = nil
	}
	return r.err
}

// event writes the line of an event. Called with mu held.
func (r *Recording) event(kind, data string) {
	seconds := float64(r.clock.Now().Sub(r.begun).Microseconds()) / 1e6
	r.line([]any{seconds, kind, data})
}

func (r *Recording) line(v any) {
	if r.err != nil {
		return
	}
	text, err := json.Marshal(v) // invalid UTF-8 becomes U+FFFD
	if err == nil {
		_, err = r.to.Write(append(text, '\n'))
	}
	r.err = err
}

// cutCharacter returns the number of bytes at the end of p that begin a character and do not end it.
func cutCharacter(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		c := p[len(p)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
