package h2

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/net/http2"
)

// Cut is one whole frame of a byte stream.
type Cut struct {
	http2.FrameHeader
	Off   int64  // of its header in the byte stream
	Bytes []byte // header and payload, valid until the next Feed
}

// Frame returns the frame as received, with the reserved bit of its stream id.
func (c Cut) Frame() Frame {
	return Frame{Type: c.Type, Flags: c.Flags, Stream: binary.BigEndian.Uint32(c.Bytes[5:]), Payload: c.Bytes[HeaderLen:]}
}

// TooLongError reports a frame whose payload exceeds the limit of a Splitter.
type TooLongError struct {
	Cut   // without Bytes
	Limit int64
}

// Error names the length and the limit.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("an HTTP/2 frame of %d bytes exceeds the limit of %d", e.Length, e.Limit)
}

// Splitter cuts a byte stream into frames, however the stream is divided into pieces.
// Its memory follows the received bytes, not the declared lengths.
type Splitter struct {
	// Limit is the largest payload.
	Limit int64

	off int64 // of the current frame
	// buf holds a partial frame; spare is the buffer of the last delivered frame.
	buf, spare []byte
}

// Feed calls each for every whole frame until each returns false, and then drops the
// rest of p. A frame over the limit ends it with a *TooLongError as soon as its header
// is complete.
func (s *Splitter) Feed(p []byte, each func(Cut) bool) error {
	for len(p) > 0 {
		head := p
		if len(s.buf) > 0 {
			p = s.fill(p, HeaderLen)
			head = s.buf
		}
		if len(head) < HeaderLen {
			p = s.fill(p, HeaderLen)
			continue
		}
		f := Cut{FrameHeader: ParseHeader(head), Off: s.off}
		if int64(f.Length) > s.Limit {
			return &TooLongError{Cut: f, Limit: s.Limit}
		}
		size := HeaderLen + int(f.Length)
		if len(s.buf) == 0 && len(p) >= size {
			f.Bytes, p = p[:size], p[size:]
		} else {
			if p = s.fill(p, size); len(s.buf) < size {
				continue
			}
			f.Bytes = s.buf
			s.buf, s.spare = s.spare[:0], s.buf
		}
		s.off += int64(size)
		if !each(f) {
			return nil
		}
	}
	return nil
}

// fill moves bytes from p into the partial frame until it has size bytes, and
// returns the rest of p.
func (s *Splitter) fill(p []byte, size int) []byte {
	n := min(len(p), max(0, size-len(s.buf)))
	s.buf = append(s.buf, p[:n]...)
	return p[n:]
}

// Partial returns the number of bytes of an incomplete frame.
func (s *Splitter) Partial() int { return len(s.buf) }

// Off returns the offset of the next or partial frame.
func (s *Splitter) Off() int64 { return s.off }
