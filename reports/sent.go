package reports

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// piece is a part of a body at its offset: one envelope, or bytes that are not an envelope.
type piece struct {
	off  int64
	head string // description
	data []byte
	bad  bool // the header does not match the bytes
}

// envelopes splits a sent body into envelopes. A script may send wrong lengths on
// purpose, so a wrong length is noted and not judged.
func envelopes(body []byte) []piece {
	var out []piece
	for off := 0; off < len(body); {
		rest := body[off:]
		if len(rest) < wire.HeaderSize {
			return append(out, piece{off: int64(off), head: fmt.Sprintf("%s of an envelope header", plural(len(rest), "byte")), data: rest, bad: true})
		}
		n := int64(binary.BigEndian.Uint32(rest[1:wire.HeaderSize]))
		p := piece{off: int64(off), head: envelopeText(rest[0], n)}
		have := int64(len(rest) - wire.HeaderSize)
		if have < n {
			p.head += fmt.Sprintf(", %d of them present", have)
			p.bad = true
			n = have
		}
		p.data = rest[wire.HeaderSize : wire.HeaderSize+int(n)]
		out = append(out, p)
		off += wire.HeaderSize + int(n)
	}
	return out
}

// envelopeText describes the header of an envelope.
func envelopeText(flags byte, n int64) string {
	text := fmt.Sprintf("flags %02x", flags)
	if flags&wire.FlagCompressed != 0 {
		text += " compressed"
	}
	if flags&wire.FlagEndStream != 0 {
		text += " end-stream"
	}
	if flags&^(wire.FlagCompressed|wire.FlagEndStream) != 0 {
		text += " reserved bits"
	}
	return text + fmt.Sprintf("  length %d", n)
}

// sentPieces returns the body of a request, as far as it was kept.
func sentPieces(e *bundle.Exchange) []piece {
	b := &e.Request.Body
	switch {
	case b.Len == 0:
		return nil
	case !b.Whole():
		return []piece{{head: size(b.Len) + " in total, starting with:", data: b.Head}}
	case e.Shape == bundle.ShapeStream, e.Protocol == call.GRPC, e.Protocol == call.GRPCWeb:
		return envelopes(b.Data)
	}
	return []piece{{head: size(b.Len), data: b.Data}}
}

// isText reports whether bytes are better shown as text than in hexadecimal. data may
// be truncated inside a character.
func isText(data []byte) bool {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return len(data)-i < utf8.UTFMax && !utf8.FullRune(data[i:])
		}
		if r < 0x20 && r != '\n' && r != '\r' && r != '\t' {
			return false
		}
		i += n
	}
	return true
}
