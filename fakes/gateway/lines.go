package gateway

import (
	"bytes"
	"slices"
)

// maxLine is the maximum output in one event. The real daemon reads pipes in
// pieces of that size, so clients must handle it.
const maxLine = 32 << 10

// maxBlock is the output that shares memory once it is cut. A piece that is kept keeps all that it shares memory with.
const maxBlock = 4 * maxLine

// lineCutter cuts one output stream into events: one per line with its newline,
// or maxLine bytes of a longer line. An incomplete line waits in the cutter.
// The zero value is ready; it is not safe for concurrent use.
type lineCutter struct{ rest []byte }

// cut adds p and calls emit for every complete piece. Pieces do not share
// memory with p and are never written to again, so emit may keep them.
func (c *lineCutter) cut(p []byte, emit func([]byte)) {
	for block := range slices.Chunk(p, maxBlock) {
		c.cutBlock(block, emit)
	}
}

func (c *lineCutter) cutBlock(p []byte, emit func([]byte)) {
	buf := make([]byte, 0, len(c.rest)+len(p))
	buf = append(append(buf, c.rest...), p...)
	for len(buf) > 0 {
		n := bytes.IndexByte(buf[:min(len(buf), maxLine)], '\n') + 1
		if n == 0 {
			if len(buf) < maxLine {
				break
			}
			n = maxLine
		}
		emit(buf[:n:n])
		buf = buf[n:]
	}
	// The rest may grow later, so it must not share memory with a piece.
	c.rest = append([]byte(nil), buf...)
}

// take returns and clears the incomplete line; nil if there is none.
func (c *lineCutter) take() []byte {
	rest := c.rest
	c.rest = nil
	if len(rest) == 0 {
		return nil
	}
	return rest
}
