package reports

import (
	"fmt"
	"strings"

	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// socketHead returns the head of a recorded frame of the peer. Whether it was masked, and an
// unnecessarily long form of its length, are not in the record.
func socketHead(f *bundle.Frame) wire.WSHead {
	return wire.WSHead{
		FIN: f.Flags&0x80 != 0, RSV: f.Flags >> 4 & 0x7, Opcode: wire.WSOpcode(f.Flags & 0xf), Length: uint64(max(0, f.Len)),
	}
}

// socketText describes the head of a frame.
func socketText(h wire.WSHead) string {
	text := h.Opcode.String()
	if !h.FIN {
		text += " unfinished"
	}
	if h.RSV != 0 {
		text += fmt.Sprintf(" reserved bits %03b", h.RSV)
	}
	return text + fmt.Sprintf("  length %d", h.Length)
}

// socketSent draws the frames that we sent on a WebSocket, without their masks.
func (t *transcript) socketSent(l *timeline, c *bundle.Conn) {
	_, data := known(&c.Sent, 0)
	head := strings.Index(string(data), "\r\n\r\n")
	if head < 0 {
		return
	}
	limit := t.limit(foldFrames())
	off := int64(head + 4)
	for n := 0; off < int64(len(data)); n++ {
		rest := data[off:]
		at := writtenAt(c, off)
		if n == limit {
			l.add(moment{at: at, way: sent, head: painted{"… and " + size(c.Sent.Len-off) + " more", dim}})
			return
		}
		h, size := wire.ParseWSHead(rest)
		if size == 0 {
			l.add(moment{at: at, way: sent, head: painted{fmt.Sprintf("@%-5d %s of a frame's head", off, plural(len(rest), "byte")), yellow}, lines: t.bytes(off, rest, nil)})
			return
		}
		m := moment{at: at, way: sent, head: painted{fmt.Sprintf("@%-5d %s", off, socketText(h)), plain}}
		payload := rest[size:]
		if h.Length < uint64(len(payload)) {
			payload = payload[:h.Length]
		} else if uint64(len(payload)) < h.Length {
			m.head.text += fmt.Sprintf(", %d of them present", len(payload))
		}
		if !h.Masked {
			m.head.text += "  not masked"
		}
		m.lines = t.bytes(off+int64(size), wire.AppendWSMasked(nil, payload, h.Key, 0), nil)
		l.add(m)
		off += int64(size + len(payload))
	}
}

// writtenAt returns when a byte of a connection was written.
func writtenAt(c *bundle.Conn, off int64) bundle.Stamp {
	at := c.Dialed
	for _, w := range c.Writes {
		if w.Off > off {
			break
		}
		at = w.At
	}
	return at
}
