//go:build linux && (amd64 || arm64)

package fast

import "assay/internal/load/account"

// feedChunk reads the bytes around the data of chunks: plain sizes, CR, LF. Anything else
// there, legal or not, goes to the strict decoder.
func (l *loop) feedChunk(ci int32, c *conn, s *account.Stream, p []byte) []byte {
	for len(p) > 0 {
		b := p[0]
		switch {
		case c.framing == atSize && isHex(b) && c.digits < 8:
			c.remain = c.remain<<4 | int64(hexValue(b))
			c.digits++
		case c.framing == atSize && b == '\r' && c.digits > 0:
			c.framing = atSizeLF
		case c.framing == atSizeLF && b == '\n' && c.remain > 0:
			c.framing = atData
			return p[1:]
		case c.framing == atSizeLF && b == '\n':
			c.framing = atEndCR
		case c.framing == atDataCR && b == '\r':
			c.framing = atDataLF
		case c.framing == atDataLF && b == '\n':
			c.framing, c.remain, c.digits = atSize, 0, 0
		case c.framing == atEndCR && b == '\r':
			c.framing = atEndLF
		case c.framing == atEndLF && b == '\n':
			l.answered(ci, c, s, p[1:])
			return nil
		default:
			l.slow(ci, c, c.prefix())
			return p
		}
		p = p[1:]
	}
	return p
}

func isHex(b byte) bool { return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'f' }

func hexValue(b byte) byte {
	if b <= '9' {
		return b - '0'
	}
	return b | 0x20 - 'a' + 10
}
