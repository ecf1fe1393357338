package strict

import (
	"context"
	"encoding/binary"
	"net/http"

	"assay/internal/wire"
)

// FrameSink receives the envelopes of one response, in order.
type FrameSink interface {
	// Frame handles one envelope; the payload is valid until Frame returns.
	Frame(flags byte, payload []byte) error
}

// FrameSinkFunc is a function as a FrameSink.
type FrameSinkFunc func(flags byte, payload []byte) error

// Frame calls f.
func (f FrameSinkFunc) Frame(flags byte, payload []byte) error { return f(flags, payload) }

// streamWriter writes an enveloped response. It passes whole envelopes to the
// decorators of Policy.Frames, and lets a stream flush several messages together.
type streamWriter struct {
	http.ResponseWriter
	sink FrameSink // nil: bytes go straight through
	part []byte    // an incomplete envelope
	held bool
	// change modifies the beginning of the response to request; nil once it has been
	// sent, or if nothing changes it.
	change  func(*Opening)
	request *http.Request
	over    bool // later bytes are dropped
}

// Opening is the beginning of the response of a Connect stream, before any of it is
// sent: the head and the first envelope.
type Opening struct {
	Request *http.Request
	Header  http.Header
	Status  int
	Flags   byte
	Payload []byte
	// Body, when set, replaces the envelope, and everything after the envelope is
	// dropped.
	Body []byte
}

// streamWriterKey is the key of the streamWriter in a request's context.
type streamWriterKey struct{}

// newStreamWriter wraps w with the decorators of frames, which may be nil.
func newStreamWriter(w http.ResponseWriter, frames func(FrameSink) FrameSink) *streamWriter {
	s := &streamWriter{ResponseWriter: w}
	if frames != nil {
		s.sink = frames(FrameSinkFunc(s.emit))
	}
	return s
}

// opens lets change modify the beginning of the response to r; nil changes nothing.
func (s *streamWriter) opens(r *http.Request, change func(*Opening)) {
	s.request, s.change = r, change
	if change != nil && s.sink == nil {
		s.sink = FrameSinkFunc(s.emit)
	}
}

// emit sends one envelope.
func (s *streamWriter) emit(flags byte, payload []byte) error {
	if s.change != nil {
		o := &Opening{Request: s.request, Header: s.Header(), Status: http.StatusOK, Flags: flags, Payload: payload}
		s.change(o)
		s.change, s.over = nil, o.Body != nil
		s.ResponseWriter.WriteHeader(o.Status)
		if s.over {
			_, err := s.ResponseWriter.Write(o.Body)
			return err
		}
	}
	if s.over {
		return nil
	}
	_, err := s.ResponseWriter.Write(wire.AppendEnvelope(nil, flags, payload))
	return err
}

// WriteHeader waits for the first envelope if change may still modify the beginning.
func (s *streamWriter) WriteHeader(status int) {
	if s.change == nil {
		s.ResponseWriter.WriteHeader(status)
	}
}

func (s *streamWriter) Write(p []byte) (int, error) {
	if s.sink == nil {
		return s.ResponseWriter.Write(p)
	}
	s.part = append(s.part, p...)
	for len(s.part) >= wire.HeaderSize {
		size := wire.HeaderSize + int(binary.BigEndian.Uint32(s.part[1:]))
		if len(s.part) < size {
			break
		}
		if err := s.sink.Frame(s.part[0], s.part[wire.HeaderSize:size]); err != nil {
			return 0, err
		}
		s.part = s.part[size:]
	}
	return len(p), nil
}

// Flush sends the written bytes, unless they are held.
func (s *streamWriter) Flush() {
	if !s.held && s.change == nil {
		// The next write returns the same error.
		_ = http.NewResponseController(s.ResponseWriter).Flush()
	}
}

// Unwrap is for http.ResponseController.
func (s *streamWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// HoldFlush suspends or resumes the flush after each message of a stream. ctx is the
// context of the handler.
func HoldFlush(ctx context.Context, hold bool) {
	if w, ok := ctx.Value(streamWriterKey{}).(*streamWriter); ok {
		w.held = hold
	}
}
