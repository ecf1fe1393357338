package transport

import (
	"bytes"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/record/bundle"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

// The directions of recorded frames.
const (
	dirSent     = "sent"
	dirReceived = "received"
)

// sentFrames decodes the frames that we send, for the record: raw writes as well as our
// own frames.
type sentFrames struct {
	split   h2.Splitter
	preface []byte // the rest of the preface
	lost    bool
	source  bytes.Reader
	framer  *http2.Framer
	fields  *hpack.Decoder
	text    fieldText
}

func newSentFrames(redact redactor) sentFrames {
	return sentFrames{split: h2.Splitter{Limit: sentLimit}, preface: []byte(http2.ClientPreface), text: fieldText{redact: redact}}
}

// unannounced begins an exchange for raw frames on a raw connection. On any other, a raw
// frame begins one by opening a stream.
func (h *mux) unannounced() {
	if h.raw {
		h.conn.noteUnannounced()
	}
}

// sending decodes the bytes of a write.
func (h *mux) sending(p []byte, at bundle.Stamp) {
	s := &h.sent
	for len(p) > 0 && len(s.preface) > 0 && p[0] == s.preface[0] {
		p, s.preface = p[1:], s.preface[1:]
		if len(s.preface) == 0 {
			h.note(bundle.H2Frame{Dir: dirSent, Type: "preface", Len: len(http2.ClientPreface), At: at})
		}
	}
	if s.lost || len(p) == 0 {
		return
	}
	// Bytes that do not begin like the preface are frames, like those after it.
	s.preface = nil
	err := s.split.Feed(p, func(f h2.Cut) bool {
		h.noteSentFrame(f, at)
		return true
	})
	s.lost = err != nil
	if len(h.control) > 0 {
		h.conn.steered.fire() // control frames may wait for the end of this one
	}
}

func (h *mux) noteSentFrame(f h2.Cut, at bundle.Stamp) {
	rec := bundle.H2Frame{
		Dir: dirSent, Type: h2.TypeName(f.Type), Flags: byte(f.Flags), Stream: f.StreamID, Len: int(f.Length), At: at,
	}
	if f.Type == http2.FrameData {
		if f.Flags.Has(http2.FlagDataEndStream) {
			rec.Detail = "END_STREAM"
		}
	} else {
		var frame http2.Frame
		frame, rec.Detail = h.sent.read(f)
		h.announce(frame)
	}
	h.note(rec)
	h.touched = max(h.touched, f.StreamID)
	st := h.streams[f.StreamID]
	if f.Type == http2.FrameHeaders && st == nil && f.StreamID%2 == 1 && h.closed[f.StreamID] == nil {
		st = h.adopt(f.StreamID)
	}
	ends := f.Type == http2.FrameHeaders || f.Type == http2.FrameData
	switch {
	case st == nil:
	case ends && f.Flags.Has(http2.FlagDataEndStream):
		st.sentEnd = true
	case f.Type == http2.FrameRSTStream && !st.cancelled:
		st.cancelled = true
		if st.x != nil {
			st.x.abort("the script reset the stream")
		}
		h.forget(st)
	}
}

// adopt opens a stream for a request of raw frames. Its response belongs to an exchange
// under the connection's name.
func (h *mux) adopt(id uint32) *stream {
	c := h.conn
	st := &stream{id: id, sendWindow: h.initialWindow, recvWindow: h.own.window, length: -1}
	h.streams[id] = st
	h.nextID = max(h.nextID, id+2)
	if len(c.queue) == 0 {
		c.beginRaw()
	}
	st.x = c.queue[0]
	c.queue = c.queue[1:]
	st.x.rec.Stream = id
	return st
}

// read decodes and describes a frame of ours; an invalid one is nil without a description.
func (s *sentFrames) read(f h2.Cut) (frame http2.Frame, text string) {
	if s.framer == nil {
		s.framer = http2.NewFramer(nil, &s.source)
		s.framer.SetMaxReadFrameSize(sentLimit)
		s.framer.AllowIllegalReads = true
		s.fields = hpack.NewDecoder(4096, func(f hpack.HeaderField) { s.text.add(f.Name, f.Value) })
		s.fields.SetMaxStringLength(wire.DefaultHeadLimit)
		s.fields.SetAllowedMaxDynamicTableSize(maxTable)
	}
	s.source.Reset(f.Bytes)
	frame, err := s.framer.ReadFrame()
	if err != nil {
		return nil, ""
	}
	switch frame := frame.(type) {
	case *http2.HeadersFrame:
		s.text.reset()
		if frame.StreamEnded() {
			s.text.word("END_STREAM")
		}
		return frame, s.fragment(frame.HeaderBlockFragment(), frame.HeadersEnded())
	case *http2.ContinuationFrame:
		return frame, s.fragment(frame.HeaderBlockFragment(), frame.HeadersEnded())
	}
	return frame, describe(frame, s.text.redact)
}

// fragment decodes a piece of a header block, and returns the description at its end.
func (s *sentFrames) fragment(p []byte, ended bool) string {
	if _, err := s.fields.Write(p); err != nil || !ended {
		return ""
	}
	_ = s.fields.Close() // a cut field is missing in the description
	text := s.text.String()
	s.text.reset()
	return text
}
