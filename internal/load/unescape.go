package load

import (
	"unicode/utf16"
	"unicode/utf8"
)

// unescape reads the next piece of the inside of a JSON string that is known to be
// valid: plain bytes as they are, or one escape, which is written to scratch.
// It returns the piece and what is left.
func unescape(text []byte, scratch *[utf8.UTFMax]byte) (piece, rest []byte) {
	if text[0] != '\\' || len(text) < 2 {
		n := 0
		for n < len(text) && text[n] != '\\' {
			n++
		}
		n = max(n, 1)
		return text[:n], text[n:]
	}
	if text[1] == 'u' {
		r, n := escapedRune(text)
		return scratch[:utf8.EncodeRune(scratch[:], r)], text[n:]
	}
	c := text[1]
	switch c {
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	}
	scratch[0] = c
	return scratch[:1], text[2:]
}

// escapedRune reads \uXXXX, or two of them that are a pair.
func escapedRune(text []byte) (r rune, n int) {
	r = hex4(text)
	if utf16.IsSurrogate(r) && len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(text[6:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, min(6, len(text))
}

// hex4 reads the four digits of \uXXXX.
func hex4(text []byte) rune {
	if len(text) < 6 {
		return utf8.RuneError
	}
	var r rune
	for _, c := range text[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		}
		r = r<<4 | rune(c)
	}
	return r
}
