//go:build linux && (amd64 || arm64)

package fast

import (
	"bytes"

	"golang.org/x/net/http2"

	"assay/internal/load/account"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

// knownBlock is an HPACK header block that was decoded with the present table, so that the
// same bytes mean the same.
type knownBlock struct {
	bytes  []byte
	status int
	fields []wire.Field
	// goodFor is the class that has this head in its good streams, -1 for none.
	goodFor int
	// goodEnd says that it consists of grpc-status 0.
	goodEnd bool
}

// headMemo holds the last header blocks of a connection that do not change the table.
// Gateways send few different ones, most of them a few bytes of references.
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

// forget empties the memo. It is called when the table has changed, which changes the
// meaning of references.
func (m *headMemo) forget() {
	for n := range m.blocks {
		m.blocks[n].bytes = m.blocks[n].bytes[:0]
	}
}

// remember keeps the block of frame b if the same bytes will mean the same again.
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

// changesTable reports whether a block adds a field to the table of its decoder or sets
// the size of the table (RFC 7541, section 6). It returns true for a malformed block.
func changesTable(p []byte) bool {
	for len(p) > 0 {
		b := p[0]
		switch {
		case b&0x80 != 0: // indexed
			if p = skipInt(p, 7); p == nil {
				return true
			}
		case b&0xe0 == 0: // a literal without indexing (0x00) or never indexed (0x10)
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
		default: // a literal with indexing, or a table size update
			return true
		}
	}
	return false
}

// noMore is the empty rest; a nil rest means that the block is incomplete.
var noMore = []byte{}

// skipInt skips an integer with a prefix of the given bits.
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
