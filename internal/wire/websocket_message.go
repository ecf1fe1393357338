package wire

// wsMessage is a message under way.
type wsMessage struct {
	open   bool
	op     WSOpcode
	off    int64 // of its first frame
	frames int
	size   uint64 // declared by its frames so far
	strict bool   // its bytes are checked: those of text and of Close, until the first violation
	text   utf8Check
	code   uint16 // of Close
	digits uint8  // bytes of the code so far

	dropped bool   // its bytes are not collected
	whole   []byte // all its bytes, in the caller's memory
	pieces  []byte
}

// begin starts a message with its first frame.
func (m *wsMessage) begin(f *WSFrame) {
	*m = wsMessage{open: true, op: f.Head.Opcode, off: f.Off, pieces: m.pieces[:0]}
	// Payloads to which an extension gave another meaning are not text.
	m.strict = m.op == WSClose || m.op == WSText && f.Head.RSV == 0
}

// end frees the message, and the memory of a large one.
func (m *wsMessage) end() {
	m.open, m.whole = false, nil
	if cap(m.pieces) > keepBuffer {
		m.pieces = nil
	}
}

// join determines which message the frame belongs to (RFC 6455, section 5.4).
func (d *WSDecoder) join(h *WSHead) {
	off := d.frame.Off
	d.belongs = slotMessage
	switch {
	case h.Opcode.Control():
		d.belongs = slotAside
		d.aside.begin(&d.frame)
	case h.Opcode == WSContinuation && !d.message.open:
		d.belongs = slotNone
		d.violate(WSOrphan, off, "a continuation frame, and no message to continue")
	case h.Opcode == WSContinuation:
	case !d.message.open:
		d.message.begin(&d.frame)
	default:
		d.violate(WSInterrupted, off, "a %s frame begins a message before the last frame of the one that began at %d", h.Opcode, d.message.off)
		if h.FIN {
			d.belongs = slotAside
			d.aside.begin(&d.frame)
		} else {
			d.message.begin(&d.frame)
		}
	}
	if m := d.current(); m != nil {
		d.extend(m, h)
	}
}

// extend adds a frame to a message. Whether a message is over the limit is known from the
// heads of its frames.
func (d *WSDecoder) extend(m *wsMessage, h *WSHead) {
	m.frames++
	m.size += h.Length
	if d.OnMessage == nil || m.dropped || m.size <= uint64(d.limit()) {
		return
	}
	d.drop(m)
	d.violate(WSMessageOverLimit, d.frame.Off, "the message is over the limit of %d bytes", d.limit())
}

func (d *WSDecoder) drop(m *wsMessage) {
	m.dropped = true
	if cap(m.pieces) > keepBuffer {
		m.pieces = nil
	}
}

// current is the message of the current frame, nil if it belongs to none.
func (d *WSDecoder) current() *wsMessage {
	switch d.belongs {
	case slotMessage:
		return &d.message
	case slotAside:
		return &d.aside
	default:
		return nil
	}
}

// inspect checks payload bytes and hands them on. Those before a violation are handed on
// before it is reported, so that the order does not depend on the split.
func (d *WSDecoder) inspect(p []byte) {
	m := d.current()
	for m != nil && m.strict && len(p) > 0 {
		if m.op == WSClose && m.digits < 2 {
			p = d.closeCode(m, p)
			continue
		}
		bad := m.text.feed(p)
		if bad < 0 {
			break
		}
		d.pass(m, p[:bad])
		d.violateText(m, "a byte that UTF-8 cannot have there")
		p = p[bad:]
	}
	d.pass(m, p)
}

// closeCode takes the bytes of a Close frame's status code and returns the rest of p.
func (d *WSDecoder) closeCode(m *wsMessage, p []byte) []byte {
	m.code = m.code<<8 | uint16(p[0])
	m.digits++
	d.pass(m, p[:1])
	if m.digits == 2 && !LegalWSCloseCode(m.code) {
		d.violate(WSCloseCode, d.off-2, "the status code %d must not be in a Close frame", m.code)
	}
	return p[1:]
}

// violateText reports that a message is not UTF-8, once.
func (d *WSDecoder) violateText(m *wsMessage, why string) {
	m.strict = false
	if m.op == WSClose {
		d.violate(WSCloseUTF8, d.off, "the reason of a Close frame has %s", why)
		return
	}
	d.violate(WSTextUTF8, d.off, "a text message has %s", why)
}

// collect adds payload bytes to a message. If they are all of it, they are not copied.
func (d *WSDecoder) collect(m *wsMessage, p []byte) {
	switch last := d.frame.Head.FIN || d.belongs == slotAside; {
	case m.dropped:
	case last && uint64(len(p)) == m.size:
		m.whole = p
	case d.Reserve == nil || d.Reserve(len(m.pieces)+len(p)):
		m.pieces = append(m.pieces, p...)
	default:
		d.drop(m)
	}
}

// endFrame is called when the payload of a frame is complete.
func (d *WSDecoder) endFrame() {
	d.inFrame = false
	m := d.current()
	if m == nil || d.belongs == slotMessage && !d.frame.Head.FIN {
		return
	}
	if m.strict && m.text.cut() {
		d.violateText(m, "the end inside a character")
	}
	if d.OnMessage != nil {
		d.OnMessage(m.message(d.off))
	}
	d.ended = d.ended || m.op == WSClose
	m.end()
}

// message describes a complete message.
func (m *wsMessage) message(end int64) WSMessage {
	out := WSMessage{Opcode: m.op, Off: m.off, End: end, Frames: m.frames, Size: m.size, Dropped: m.dropped}
	switch {
	case m.dropped:
	case m.whole != nil:
		out.Payload = m.whole
	default:
		out.Payload = m.pieces
	}
	return out
}

func (d *WSDecoder) limit() int {
	if d.Limit <= 0 {
		return DefaultLimit
	}
	return d.Limit
}
