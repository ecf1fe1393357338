package wire

// keepBuffer is how much memory a decoder keeps between frames. It holds the
// largest event of the real daemon (32 KiB of output, 44 KiB as base64) many
// times over; what one huge frame needed is given back.
const keepBuffer = 1 << 20

// cutBuffer collects a frame that is cut over several feeds. There are two
// buffers in turn, because a frame that was delivered must stay valid until
// the next feed while the tail of the same feed may begin another cut frame.
type cutBuffer struct {
	cur, delivered []byte
}

// bytes is what was collected so far.
func (b *cutBuffer) bytes() []byte { return b.cur }

// append grows with the bytes that really came.
func (b *cutBuffer) append(p []byte) { b.cur = append(b.cur, p...) }

// take hands the collected frame out, valid until the next swap, and begins anew.
func (b *cutBuffer) take() []byte {
	out := b.cur
	b.cur, b.delivered = b.delivered[:0], out
	return out
}

// swap is called at the beginning of a feed: the frame handed out before is no
// longer needed.
func (b *cutBuffer) swap() {
	if cap(b.delivered) > keepBuffer {
		b.delivered = nil
	}
	b.delivered = b.delivered[:0]
}

// drop forgets what was collected.
func (b *cutBuffer) drop() {
	if cap(b.cur) > keepBuffer {
		b.cur = nil
	}
	b.cur = b.cur[:0]
}
