package fakes

import (
	"context"
	"encoding/binary"
	"net/http"

	"assay/internal/wire"
)

// frameSink takes the envelopes of one answer, in order.
type frameSink interface {
	frame(flags byte, payload []byte) error
}

// frameSinkFunc is a function as a frameSink.
type frameSinkFunc func(flags byte, payload []byte) error

func (f frameSinkFunc) frame(flags byte, payload []byte) error { return f(flags, payload) }

// streamWriter is the way out of a streaming answer. It lets the decorators of
// the frame seam see whole envelopes, and lets a stream that has several
// events at hand flush them together.
type streamWriter struct {
	http.ResponseWriter
	sink frameSink // nil: bytes go straight through
	part []byte    // of an envelope that is not complete
	held bool
	// change sees the beginning of the answer to request before it is sent; nil when
	// it has been sent, or is as it is.
	change  func(*opening)
	request *http.Request
	over    bool // what follows is dropped
}

// streamWriterKey is the key of the streamWriter in a request's context.
type streamWriterKey struct{}

// newStreamWriter wraps w with the decorators of frames, which may be nil.
func newStreamWriter(w http.ResponseWriter, frames func(frameSink) frameSink) *streamWriter {
	s := &streamWriter{ResponseWriter: w}
	if frames != nil {
		s.sink = frames(frameSinkFunc(s.emit))
	}
	return s
}

// opens lets change see the beginning of the answer to r; nil changes nothing.
func (s *streamWriter) opens(r *http.Request, change func(*opening)) {
	s.request, s.change = r, change
	if change != nil && s.sink == nil {
		s.sink = frameSinkFunc(s.emit)
	}
}

// emit sends one envelope.
func (s *streamWriter) emit(flags byte, payload []byte) error {
	if s.change != nil {
		o := &opening{request: s.request, header: s.Header(), status: http.StatusOK, flags: flags, payload: payload}
		s.change(o)
		s.change, s.over = nil, o.body != nil
		s.ResponseWriter.WriteHeader(o.status)
		if s.over {
			_, err := s.ResponseWriter.Write(o.body)
			return err
		}
	}
	if s.over {
		return nil
	}
	_, err := s.ResponseWriter.Write(wire.AppendEnvelope(nil, flags, payload))
	return err
}

// WriteHeader waits, where the beginning is still to be seen, for the first envelope.
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
		if err := s.sink.frame(s.part[0], s.part[wire.HeaderSize:size]); err != nil {
			return 0, err
		}
		s.part = s.part[size:]
	}
	return len(p), nil
}

// Flush sends what was written, unless it is held.
func (s *streamWriter) Flush() {
	if !s.held && s.change == nil {
		// An error shows again at the next write.
		_ = http.NewResponseController(s.ResponseWriter).Flush()
	}
}

// Unwrap is for http.ResponseController.
func (s *streamWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// holdFlush keeps the next events of a stream from being flushed one by one,
// or ends that.
func holdFlush(ctx context.Context, hold bool) {
	if w, ok := ctx.Value(streamWriterKey{}).(*streamWriter); ok {
		w.held = hold
	}
}
