package wire

import "encoding/binary"

// utf8Check is an incremental check of UTF-8 (RFC 3629) that fails at the first byte with which no
// text can go on, and not only at the end of the character. The zero value is ready.
type utf8Check struct {
	missing uint8 // bytes of the current character
	lo, hi  byte  // the range of the next of them
}

// feed returns the index of the first byte that is not UTF-8, -1 if there is none. After
// a failure the check must not be fed again.
func (u *utf8Check) feed(p []byte) int {
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case u.missing > 0:
			if c < u.lo || c > u.hi {
				return i
			}
			u.lo, u.hi = 0x80, 0xbf
			u.missing--
		case c < 0x80:
			i += asciiWords(p[i+1:])
		case !u.begin(c):
			return i
		}
	}
	return -1
}

// asciiWords returns how many bytes at the beginning of p are ASCII, in steps of eight.
func asciiWords(p []byte) int {
	n := 0
	for ; len(p) >= 8 && binary.LittleEndian.Uint64(p)&0x8080808080808080 == 0; p = p[8:] {
		n += 8
	}
	return n
}

// begin takes the first byte of a character of several bytes. The ranges exclude overlong
// forms, surrogates and code points over U+10FFFF.
func (u *utf8Check) begin(c byte) bool {
	u.lo, u.hi = 0x80, 0xbf
	switch {
	case c < 0xc2 || c > 0xf4:
		return false
	case c < 0xe0:
		u.missing = 1
	case c < 0xf0:
		u.missing = 2
	default:
		u.missing = 3
	}
	switch c {
	case 0xe0:
		u.lo = 0xa0
	case 0xed:
		u.hi = 0x9f
	case 0xf0:
		u.lo = 0x90
	case 0xf4:
		u.hi = 0x8f
	}
	return true
}

// cut reports whether the text so far ends inside a character.
func (u *utf8Check) cut() bool { return u.missing > 0 }
