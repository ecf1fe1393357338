//go:build linux && (amd64 || arm64)

package fast

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"assay/internal/load"
	"assay/internal/wire"
)

// cuts are the buffers of envelopes and lines that a read has cut. A stream
// borrows one until the rest has come.
type cuts struct {
	bufs [][]byte
	free []int32
}

// keptCut bounds what an idle buffer may hold: the largest event of the real daemon
// (32 KiB of output, 44 KiB as base64).
const keptCut = 64 << 10

func (c *cuts) take() int32 {
	if n := len(c.free); n > 0 {
		i := c.free[n-1]
		c.free = c.free[:n-1]
		return i
	}
	c.bufs = append(c.bufs, nil)
	return int32(len(c.bufs) - 1) //nolint:gosec // as many as streams
}

func (c *cuts) put(i int32) {
	if cap(c.bufs[i]) > keptCut {
		c.bufs[i] = nil
	}
	c.bufs[i] = c.bufs[i][:0]
	c.free = append(c.free, i)
}

// cutBytes is what a stream's buffer holds.
func (l *loop) cutBytes(s *stream) []byte {
	if s.cut == none {
		return nil
	}
	return l.cuts.bufs[s.cut]
}

func (l *loop) appendCut(s *stream, p []byte) []byte {
	if s.cut == none {
		s.cut = l.cuts.take()
	}
	b := append(l.cuts.bufs[s.cut], p...)
	l.cuts.bufs[s.cut] = b
	return b
}

// dropCut gives a stream's buffer back.
func (l *loop) dropCut(s *stream) {
	if s.cut != none {
		l.cuts.put(s.cut)
		s.cut = none
	}
}

// feedEnvelopes takes bytes of a body made of envelopes. One that is whole in p is
// read in place.
func (l *loop) feedEnvelopes(i int32, s *stream, p []byte) {
	for len(p) > 0 {
		if s.has(flagLost | flagEnded) {
			l.excess(i, s)
			return
		}
		if s.have == 0 && len(p) >= wire.HeaderSize {
			n := binary.BigEndian.Uint32(p[1:])
			if uint64(len(p)-wire.HeaderSize) >= uint64(n) && n <= wire.DefaultLimit {
				end := wire.HeaderSize + int(n)
				l.envelope(i, s, p[0], p[wire.HeaderSize:end])
				p = p[end:]
				continue
			}
		}
		p = l.feedCut(i, s, p)
	}
}

// feedCut takes bytes of an envelope that is not whole.
func (l *loop) feedCut(i int32, s *stream, p []byte) []byte {
	if s.have < wire.HeaderSize {
		n := copy(s.head[s.have:], p)
		s.have += uint8(n) //nolint:gosec // at most 5
		if p = p[n:]; s.have < wire.HeaderSize {
			return p
		}
		if n := binary.BigEndian.Uint32(s.head[1:]); n > wire.DefaultLimit {
			s.set(flagLost)
			l.breach(i, s, fmt.Sprintf("%s: declared length %d is over the limit of %d bytes", wire.PayloadOverLimit, n, wire.DefaultLimit))
			return nil
		}
	}
	have := l.cutBytes(s)
	missing := int(binary.BigEndian.Uint32(s.head[1:])) - len(have)
	if len(p) < missing {
		l.appendCut(s, p)
		return nil
	}
	whole, rest := p[:missing], p[missing:]
	if len(have) > 0 {
		whole = l.appendCut(s, whole)
	}
	s.have = 0
	l.envelope(i, s, s.head[0], whole)
	l.dropCut(s)
	return rest
}

// excess is called for bytes after the last envelope.
func (l *loop) excess(i int32, s *stream) {
	if !s.has(flagLost) {
		s.set(flagLost)
		l.breach(i, s, string(wire.BytesAfterEnd)+": bytes follow the end of the stream")
	}
}

// envelope takes one envelope.
func (l *loop) envelope(i int32, s *stream, flags byte, payload []byte) {
	if flags == 0 {
		l.event(i, s, payload)
		return
	}
	c := l.class(s)
	if flags&^(wire.FlagCompressed|c.endFlag) != 0 {
		l.breach(i, s, fmt.Sprintf("%s: the envelope's flags are 0x%02x", wire.ReservedFlags, flags))
	}
	if flags&c.endFlag != 0 {
		s.set(flagEnded)
	}
	switch {
	case flags&wire.FlagCompressed != 0:
		l.breach(i, s, "a compressed envelope, though no encoding was offered")
	case flags == c.endFlag && c.web:
		fields, violations := wire.DecodeWebTrailers(payload)
		for _, v := range violations {
			l.violation(i, s, v)
		}
		l.status(i, s, fields, false)
	case flags == c.endFlag:
		l.endStream(i, s, payload)
	}
}

// endStream takes the payload of Connect's end-of-stream envelope.
func (l *loop) endStream(i int32, s *stream, p []byte) {
	s.set(flagEOS)
	if string(p) == "{}" {
		return
	}
	end, violations := wire.DecodeEndStream(p)
	for _, v := range violations {
		l.violation(i, s, v)
	}
	if end.Error != nil {
		l.rpcError(i, s, end.Error.Code, end.Error.Message)
	}
}

// feedLines takes bytes of an NDJSON body.
func (l *loop) feedLines(i int32, s *stream, p []byte) {
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\n')
		if n < 0 {
			if s.has(flagLost) {
				return
			}
			if b := l.appendCut(s, p); len(b) > wire.DefaultLimit {
				s.set(flagLost)
				l.dropCut(s)
				l.breach(i, s, fmt.Sprintf("%s: a line is over the limit of %d bytes", wire.LineOverLimit, wire.DefaultLimit))
			}
			return
		}
		text := p[:n]
		p = p[n+1:]
		switch {
		case s.has(flagLost): // the end of the line that was too long
			s.clear(flagLost)
		case s.cut != none:
			l.line(i, s, l.appendCut(s, text))
			l.dropCut(s)
		default:
			l.line(i, s, text)
		}
	}
}

// line takes one line without its newline.
func (l *loop) line(i int32, s *stream, text []byte) {
	if l.plainLine(i, s, text) {
		return
	}
	d := wire.LineDecoder{
		OnLine:      func(n wire.Line) { l.strictEvent(i, s, n.Data) },
		OnViolation: func(v wire.Violation) { l.violation(i, s, v) },
	}
	d.Feed(append(bytes.Clone(text), '\n'))
}

// closeBody looks at what is cut at the end of a complete answer.
func (l *loop) closeBody(i int32, s *stream) {
	switch {
	case s.have == 0 && s.cut == none, s.has(flagLost):
	case l.class(s).ndjson:
		l.line(i, s, bytes.Clone(l.cutBytes(s)))
		l.breach(i, s, string(wire.LineUnterminated)+": the input ends without a newline")
	default:
		l.breach(i, s, fmt.Sprintf("%s: the input ends inside an envelope", wire.TruncatedPayload))
	}
}

// errorLine takes a line of the alias that is no event: it says what went wrong.
func (l *loop) errorLine(i int32, s *stream, p []byte) {
	l.bad(i, s, &failure{outcome: load.ServerError, said: true, detail: fmt.Sprintf("the line %.200s", p)})
}
