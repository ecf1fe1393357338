package account

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// cuts holds the buffers for incomplete envelopes and lines. A stream borrows one until
// the rest arrives.
type cuts struct {
	bufs [][]byte
	free []int32
	long int // bytes of the buffers above longCut
}

// A message above longCut must fit into what all such messages together may have, while they are incomplete.
const (
	longCut  = 1 << 20
	mostLong = 256 << 20
)

// keptCut is the largest capacity of an idle buffer: enough for the largest event of the
// real daemon (32 KiB of output, 44 KiB as base64).
const keptCut = 64 << 10

func (c *cuts) take() int32 {
	if n := len(c.free); n > 0 {
		i := c.free[n-1]
		c.free = c.free[:n-1]
		return i
	}
	c.bufs = append(c.bufs, nil)
	return int32(len(c.bufs) - 1) //nolint:gosec // at most one per stream
}

func (c *cuts) put(i int32) {
	if n := cap(c.bufs[i]); n > longCut {
		c.long -= n
	}
	if cap(c.bufs[i]) > keptCut {
		c.bufs[i] = nil
	}
	c.bufs[i] = c.bufs[i][:0]
	c.free = append(c.free, i)
}

// cutBytes returns the content of a stream's buffer.
func (a *Streams) cutBytes(s *Stream) []byte {
	if s.cut == None {
		return nil
	}
	return a.cuts.bufs[s.cut]
}

func (a *Streams) appendCut(s *Stream, p []byte) []byte {
	if s.cut == None {
		s.cut = a.cuts.take()
	}
	b := a.cuts.bufs[s.cut]
	before := cap(b)
	b = append(b, p...)
	a.cuts.bufs[s.cut] = b
	if n := cap(b); n != before && n > longCut {
		a.cuts.long += n
		if before > longCut {
			a.cuts.long -= before
		}
	}
	return b
}

// tooMuch reports whether a long incomplete message is one too many.
func (a *Streams) tooMuch(b []byte) bool { return len(b) > longCut && a.cuts.long > mostLong }

// dropCut returns a stream's buffer.
func (a *Streams) dropCut(s *Stream) {
	if s.cut != None {
		a.cuts.put(s.cut)
		s.cut = None
	}
}

// feedEnvelopes reads bytes of a body of envelopes. An envelope that is whole in p is
// read in place.
func (a *Streams) feedEnvelopes(i int32, s *Stream, p []byte) {
	for len(p) > 0 {
		if s.has(flagLost | flagEnded) {
			a.excess(i, s)
			return
		}
		if s.have == 0 && len(p) >= wire.HeaderSize {
			n := binary.BigEndian.Uint32(p[1:])
			if uint64(len(p)-wire.HeaderSize) >= uint64(n) && n <= wire.DefaultLimit {
				end := wire.HeaderSize + int(n)
				a.envelope(i, s, p[0], p[wire.HeaderSize:end])
				p = p[end:]
				continue
			}
		}
		p = a.feedCut(i, s, p)
	}
}

// feedCut reads bytes of an incomplete envelope and returns the rest of p.
func (a *Streams) feedCut(i int32, s *Stream, p []byte) []byte {
	if s.have < wire.HeaderSize {
		n := copy(s.head[s.have:], p)
		s.have += uint8(n) //nolint:gosec // at most 5
		if p = p[n:]; s.have < wire.HeaderSize {
			return p
		}
		if n := binary.BigEndian.Uint32(s.head[1:]); n > wire.DefaultLimit {
			s.set(flagLost)
			a.Breach(i, s, fmt.Sprintf("%s: declared length %d is over the limit of %d bytes", wire.PayloadOverLimit, n, wire.DefaultLimit))
			return nil
		}
	}
	have := a.cutBytes(s)
	missing := int(binary.BigEndian.Uint32(s.head[1:])) - len(have)
	if len(p) < missing {
		if a.tooMuch(a.appendCut(s, p)) {
			a.dropCut(s)
			s.set(flagLost)
			a.Breach(i, s, fmt.Sprintf("%s: a message of %d bytes, when the incomplete ones of all streams have more than %d", wire.PayloadOverLimit, len(have)+missing, mostLong))
		}
		return nil
	}
	whole, rest := p[:missing], p[missing:]
	if len(have) > 0 {
		whole = a.appendCut(s, whole)
	}
	s.have = 0
	a.envelope(i, s, s.head[0], whole)
	a.dropCut(s)
	return rest
}

// excess notes bytes after the last envelope.
func (a *Streams) excess(i int32, s *Stream) {
	if !s.has(flagLost) {
		s.set(flagLost)
		a.Breach(i, s, string(wire.BytesAfterEnd)+": bytes follow the end of the stream")
	}
}

// envelope handles one envelope.
func (a *Streams) envelope(i int32, s *Stream, flags byte, payload []byte) {
	if flags == 0 {
		a.event(i, s, payload)
		return
	}
	c := a.class(s)
	if flags&^(wire.FlagCompressed|c.endFlag) != 0 {
		a.Breach(i, s, fmt.Sprintf("%s: the envelope's flags are 0x%02x", wire.ReservedFlags, flags))
	}
	if flags&c.endFlag != 0 {
		s.set(flagEnded)
	}
	switch {
	case flags&wire.FlagCompressed != 0:
		a.Breach(i, s, "a compressed envelope, though no encoding was offered")
	case flags == c.endFlag && c.web:
		fields, violations := wire.DecodeWebTrailers(payload)
		for _, v := range violations {
			a.violation(i, s, v)
		}
		a.status(i, s, fields, false)
	case flags == c.endFlag:
		a.endStream(i, s, payload)
	}
}

// endStream handles the payload of Connect's end-of-stream envelope.
func (a *Streams) endStream(i int32, s *Stream, p []byte) {
	s.set(flagEOS)
	if string(p) == "{}" {
		return
	}
	end, violations := wire.DecodeEndStream(p)
	for _, v := range violations {
		a.violation(i, s, v)
	}
	if end.Error != nil {
		a.rpcError(i, s, end.Error.Code, end.Error.Message)
	}
}

// feedLines reads bytes of an NDJSON body.
func (a *Streams) feedLines(i int32, s *Stream, p []byte) {
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\n')
		if n < 0 {
			if s.has(flagLost) {
				return
			}
			if b := a.appendCut(s, p); len(b) > wire.DefaultLimit || a.tooMuch(b) {
				s.set(flagLost)
				a.dropCut(s)
				a.Breach(i, s, fmt.Sprintf("%s: a line is over the limit of %d bytes, or of %d with those of other streams", wire.LineOverLimit, wire.DefaultLimit, mostLong))
			}
			return
		}
		text := p[:n]
		p = p[n+1:]
		switch {
		case s.has(flagLost): // the end of a line over the limit
			s.clear(flagLost)
		case s.cut != None:
			a.line(i, s, a.appendCut(s, text))
			a.dropCut(s)
		default:
			a.line(i, s, text)
		}
	}
}

// line handles one line without its newline.
func (a *Streams) line(i int32, s *Stream, text []byte) {
	if a.plainLine(i, s, text) {
		return
	}
	d := wire.LineDecoder{
		OnLine:      func(n wire.Line) { a.strictEvent(i, s, n.Data) },
		OnViolation: func(v wire.Violation) { a.violation(i, s, v) },
	}
	d.Feed(append(bytes.Clone(text), '\n'))
}

// closeBody reports an incomplete envelope or line at the end of a complete response.
func (a *Streams) closeBody(i int32, s *Stream) {
	switch {
	case s.have == 0 && s.cut == None, s.has(flagLost):
	case a.class(s).ndjson:
		a.line(i, s, bytes.Clone(a.cutBytes(s)))
		a.Breach(i, s, string(wire.LineUnterminated)+": the input ends without a newline")
	default:
		a.Breach(i, s, fmt.Sprintf("%s: the input ends inside an envelope", wire.TruncatedPayload))
	}
}

// errorLine handles a line of the alias that is an error and not an event. Only the first one
// of a stream is kept. Reading goes on: a later end line tells that the process has ended.
func (a *Streams) errorLine(i int32, s *Stream, p []byte) {
	if x := a.extra(i, s); x.rpc == nil {
		x.rpc = &Failure{Outcome: bundle.StreamServerError, Detail: fmt.Sprintf("the line %.200s", p)}
	}
}
