//go:build linux && (amd64 || arm64)

package fast

import (
	"bytes"

	"golang.org/x/net/http2"

	"assay/internal/load/account"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

// knownBlock is a header block of HPACK that was decoded before, with the table as it
// still is, so that the same bytes say the same.
type knownBlock struct {
	bytes  []byte
	status int
	fields []wire.Field
	// goodFor is the class of whose good streams this is the head, -1 for no class.
	goodFor int
	// goodEnd: it is nothing but grpc-status 0.
	goodEnd bool
}

// headMemo is the last header blocks of a connection that change no table: gateways
// send few different ones, most of them a few bytes of references.
type headMemo struct {
	blocks [4]knownBlock
	next   int
}

// find returns a known block, or nil.
func (m *headMemo) find(p []byte) *knownBlock {
	for n := range m.blocks {
		if b := &m.blocks[n]; len(b.bytes) == len(p) && len(p) > 0 && bytes.Equal(b.bytes, p) {
			return b
		}
	}
	return nil
}

// forget empties the memo when the table has changed, which changes the meaning of
// references.
func (m *headMemo) forget() {
	for n := range m.blocks {
		m.blocks[n].bytes = m.blocks[n].bytes[:0]
	}
}

// remember keeps a block, in the frame b, if the same bytes will mean the same again.
func (c *mux) remember(i int32, b []byte, status int, fields []wire.Field) {
	payload := b[h2.HeaderLen:]
	whole := http2.Flags(b[4])&^http2.FlagHeadersEndStream == http2.FlagHeadersEndHeaders && // no padding, no priority
		len(payload) == int(b[0])<<16|int(b[1])<<8|int(b[2])
	if !whole || changesTable(payload) {
		c.heads.forget()
		return
	}
	k := &c.heads.blocks[c.heads.next]
	c.heads.next = (c.heads.next + 1) % len(c.heads.blocks)
	*k = knownBlock{bytes: append(k.bytes[:0], payload...), status: status, fields: fields, goodFor: -1}
	if i == account.None {
		return
	}
	l := c.in.l
	s := l.streams.At(i)
	if class := s.Class(); !s.IsCall() && l.streams.PlainHead(class, status, fields) {
		k.goodFor = class
	}
	st, ok, violations := wire.DecodeGRPCStatus(fields)
	k.goodEnd = ok && st.Code == 0 && len(violations) == 0 && status == 0
}

// changesTable reports whether a block changes the table of its decoder (RFC 7541,
// section 6): it does where a field is added, or its size is set. What cannot be
// followed is said to.
func changesTable(p []byte) bool {
	for len(p) > 0 {
		b := p[0]
		switch {
		case b&0x80 != 0: // indexed
			if p = skipInt(p, 7); p == nil {
				return true
			}
		case b&0xe0 == 0: // a literal that is not added (0x00), or never is (0x10)
			named := b&0x0f != 0
			if p = skipInt(p, 4); p == nil {
				return true
			}
			if !named {
				if p = skipString(p); p == nil {
					return true
				}
			}
			if p = skipString(p); p == nil {
				return true
			}
		default: // added, or a new size
			return true
		}
	}
	return false
}

// noMore is the empty rest; a nil rest means that the block was cut.
var noMore = []byte{}

// skipInt skips an integer with a prefix of so many bits.
func skipInt(p []byte, bits uint) []byte {
	_, rest := readInt(p, bits)
	return rest
}

// readInt reads an integer of at most 28 bits beyond its prefix.
func readInt(p []byte, bits uint) (v int, rest []byte) {
	if len(p) == 0 {
		return 0, nil
	}
	most := 1<<bits - 1
	v = int(p[0]) & most
	if v < most {
		return v, keep(p[1:])
	}
	for n := 1; n < len(p) && n < 5; n++ {
		v += int(p[n]&0x7f) << (7 * (n - 1))
		if p[n] < 0x80 {
			return v, keep(p[n+1:])
		}
	}
	return 0, nil
}

func skipString(p []byte) []byte {
	n, rest := readInt(p, 7)
	if rest == nil || n > len(rest) {
		return nil
	}
	return keep(rest[n:])
}

func keep(p []byte) []byte {
	if len(p) == 0 {
		return noMore
	}
	return p
}
