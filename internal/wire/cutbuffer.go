package wire

// keepBuffer is how much memory a decoder keeps between frames. It holds the
// largest event of the real daemon (32 KiB of output, 44 KiB as base64) many
// times over; the memory of one huge frame is released.
const keepBuffer = 1 << 20

// cutBuffer collects a frame that arrives in several feeds. It alternates between two
// buffers, because a delivered frame must stay valid until the next feed while the end
// of the same feed may begin another frame.
type cutBuffer struct {
	cur, delivered []byte
}

// bytes returns the bytes collected so far.
func (b *cutBuffer) bytes() []byte { return b.cur }

// append adds received bytes.
func (b *cutBuffer) append(p []byte) { b.cur = append(b.cur, p...) }

// take returns the collected frame, valid until the next swap, and begins a new one.
func (b *cutBuffer) take() []byte {
	out := b.cur
	b.cur, b.delivered = b.delivered[:0], out
	return out
}

// swap is called at the beginning of a feed: the frame returned before is no
// longer needed.
func (b *cutBuffer) swap() {
	if cap(b.delivered) > keepBuffer {
		b.delivered = nil
	}
	b.delivered = b.delivered[:0]
}

// drop discards the collected bytes.
func (b *cutBuffer) drop() {
	if cap(b.cur) > keepBuffer {
		b.cur = nil
	}
	b.cur = b.cur[:0]
}
