package wire

// WSFrame is one WebSocket frame, without its payload.
type WSFrame struct {
	Off  int64 // of the head's first byte
	Head WSHead
}

// WSMessage is one complete message: a text or binary message of one or several frames, or a
// control frame. A message of a reserved opcode is kept like those of its half of
// the opcodes.
type WSMessage struct {
	Opcode WSOpcode
	Off    int64  // of its first frame
	End    int64  // after its last frame; between both there may be control frames
	Frames int    // how many it came in
	Size   uint64 // bytes of payload
	// Payload has the mask removed and is valid during the call.
	Payload []byte
	// Dropped says that there is no Payload: the message is longer than the decoder's limit, or
	// there was no memory for it.
	Dropped bool
}

// WSDecoder is an incremental, strict decoder of one direction of a WebSocket connection
// (RFC 6455), after its handshake. The zero value is ready for the frames of a server.
//
// A frame that violates the RFC is reported and delivered, and decoding continues: a new
// message inside a fragmented one is a message of its own if it is whole, and replaces
// the fragmented one otherwise; a continuation without a start belongs to no message. Only a
// length of 2^63 or more loses the framing: the frame is delivered, and the rest is
// counted and not decoded.
//
// Payloads are handed on as they arrive. Memory follows the received bytes of a message,
// never a declared length, and only if OnMessage is set.
type WSDecoder struct {
	// FromClient says that the frames come from a client, which masks them.
	FromClient bool
	// AllowedRSV has the bits that negotiated extensions use.
	AllowedRSV byte
	// Limit is the longest message that is collected, in bytes; 0 means DefaultLimit.
	Limit int
	// Reserve is called with the new length of a collected message before a further piece of
	// it is copied. If it returns false, the message is delivered without its payload. nil
	// allows all.
	Reserve func(n int) bool
	// OnFrame is called for every frame when its head is complete, after the violations of the head.
	OnFrame func(WSFrame)
	// OnPayload is called with pieces of the current frame's payload, without the mask, valid
	// during the call.
	OnPayload func(p []byte)
	// OnMessage is called when the last frame of a message is complete.
	OnMessage func(WSMessage)
	// OnViolation is called for every violation, in the order of offsets. A violation of a
	// head has the offset of its frame, one of UTF-8 that of the first byte with which no
	// text can go on.
	OnViolation func(Violation)

	off     int64 // of the next byte
	head    [MaxWSHead]byte
	have    int // head bytes so far
	frame   WSFrame
	inFrame bool   // the head is complete, the payload is not
	remain  uint64 // missing bytes of the payload
	belongs slot   // the message of the current frame
	message wsMessage
	aside   wsMessage
	scratch []byte // a piece without its mask
	ended   bool   // a Close frame was decoded
	lost    bool
	skipped int64
}

// slot is where the current frame belongs: to no message, to the possibly fragmented message
// under way, or to a message beside it that has one frame.
type slot uint8

const (
	slotNone slot = iota
	slotMessage
	slotAside
)

// maskPiece is the longest piece of a masked payload.
const maskPiece = 4 << 10

// Feed decodes p, the continuation of the previous input. p is not changed.
func (d *WSDecoder) Feed(p []byte) {
	for len(p) > 0 {
		switch {
		case d.lost:
			d.skipped += int64(len(p))
			d.off += int64(len(p))
			return
		case d.inFrame:
			p = d.feedPayload(p)
		default:
			p = d.feedHead(p)
		}
	}
}

// feedHead takes head bytes and returns the rest of p. A head that is complete in p is not
// copied.
func (d *WSDecoder) feedHead(p []byte) []byte {
	if d.have == 0 {
		d.frame.Off = d.off
		if h, n := ParseWSHead(p); n > 0 {
			d.off += int64(n)
			d.beginFrame(h)
			return p[n:]
		}
	}
	n := copy(d.head[d.have:wsHeadSize(d.head[:d.have])], p)
	d.have += n
	d.off += int64(n)
	if h, size := ParseWSHead(d.head[:d.have]); size > 0 {
		d.have = 0
		d.beginFrame(h)
	}
	return p[n:]
}

// beginFrame is called when a head is complete. An empty payload is complete at once.
func (d *WSDecoder) beginFrame(h WSHead) {
	d.frame.Head = h
	d.checkHead(&d.frame.Head)
	if d.lost = h.Length>>63 != 0; !d.lost {
		d.join(&d.frame.Head)
	}
	if d.OnFrame != nil {
		d.OnFrame(d.frame)
	}
	d.inFrame, d.remain = true, h.Length
	if h.Length == 0 {
		d.endFrame()
	}
}

// checkHead reports what is wrong with a head, whatever came before it.
func (d *WSDecoder) checkHead(h *WSHead) {
	off := d.frame.Off
	if h.RSV&^d.AllowedRSV != 0 {
		d.violate(WSReservedBits, off, "the %s frame has reserved bits 0x%x, and no extension uses them", h.Opcode, h.RSV&^d.AllowedRSV)
	}
	if h.Opcode.reserved() {
		d.violate(WSReservedOpcode, off, "%s is reserved", h.Opcode)
	}
	if h.Opcode.Control() {
		d.checkControl(h)
	} else if d.ended {
		d.violate(WSDataAfterClose, off, "a %s frame follows the Close frame", h.Opcode)
	}
	if h.Masked && !d.FromClient {
		d.violate(WSServerMasked, off, "a server does not mask its frames")
	}
	if !h.Masked && d.FromClient {
		d.violate(WSClientUnmasked, off, "a client masks its frames")
	}
	if !h.Minimal() {
		d.violate(WSLengthForm, off, "the length %d is written in %d bits", h.Length, h.LengthBits)
	}
	if h.Length>>63 != 0 {
		d.violate(WSLengthHighBit, off, "the length %d has its highest bit set; the rest is not decoded", h.Length)
	}
}

func (d *WSDecoder) checkControl(h *WSHead) {
	off := d.frame.Off
	if !h.FIN {
		d.violate(WSControlFragmented, off, "the %s frame is fragmented", h.Opcode)
	}
	if h.Length > MaxWSControl {
		d.violate(WSControlLength, off, "the %s frame has %d bytes, over the limit of %d", h.Opcode, h.Length, MaxWSControl)
	}
	if h.Opcode == WSClose && h.Length == 1 {
		d.violate(WSCloseLength, off, "a Close frame has one byte of payload; a status code has two")
	}
}

// feedPayload takes payload bytes and returns the rest of p.
func (d *WSDecoder) feedPayload(p []byte) []byte {
	n := len(p)
	if uint64(n) > d.remain {
		n = int(d.remain)
	}
	piece := p[:n]
	if h := &d.frame.Head; h.Masked {
		n = min(n, maskPiece)
		if d.scratch == nil {
			d.scratch = make([]byte, maskPiece)
		}
		piece = d.scratch[:n]
		maskInto(piece, p[:n], h.Key, h.Length-d.remain)
	}
	d.inspect(piece)
	if d.remain == 0 {
		d.endFrame()
	}
	return p[n:]
}

// pass hands on payload bytes that have been checked.
func (d *WSDecoder) pass(m *wsMessage, p []byte) {
	if len(p) == 0 {
		return
	}
	d.off += int64(len(p))
	d.remain -= uint64(len(p))
	if d.OnPayload != nil {
		d.OnPayload(p)
	}
	if m != nil && d.OnMessage != nil {
		d.collect(m, p)
	}
}

// Close ends the input and reports, at its end, an incomplete frame or message. The
// decoder must not be fed again.
func (d *WSDecoder) Close() {
	switch {
	case d.lost:
		return
	case d.have > 0:
		d.violate(WSTruncatedHead, d.off, "the input ends after %d bytes of a frame's head", d.have)
	case d.inFrame:
		h := &d.frame.Head
		d.violate(WSTruncatedPayload, d.off, "the input ends after %d of %d payload bytes", h.Length-d.remain, h.Length)
	case d.message.open && !d.ended:
		d.violate(WSUnfinished, d.off, "the input ends after %d frames of a message, and none of them is the last", d.message.frames)
	}
	d.lost = true
}

// Lost reports whether the framing is lost: no frame can be decoded any more.
func (d *WSDecoder) Lost() bool { return d.lost }

func (d *WSDecoder) violate(k Kind, off int64, format string, args ...any) {
	report(d.OnViolation, k, off, format, args...)
}
