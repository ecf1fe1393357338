package secret

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escapes reports whether p has an escape of a character in a set, or of a line break in base64.
func escapes(p []byte, set *[256]bool) bool {
	if bytes.IndexByte(p, '\\') < 0 && bytes.IndexByte(p, '%') < 0 && bytes.IndexByte(p, '&') < 0 {
		return false
	}
	for i, c := range p {
		if !begins(c) {
			continue
		}
		if e, n := escape(p[i:]); n > 0 && (e.matters(set) || e.breaks() && endsLine(p[:i])) {
			return true
		}
	}
	return false
}

// layer is a text without some of its escapes. at has the place of every byte in the
// original text, and at the end its length; nil is the original text. offset is added to every
// place.
type layer struct {
	text   []byte
	at     []int32
	offset int
}

// span returns the place of a byte in the original text.
func (l layer) span(i int) (from, to int) {
	return l.offset + l.place(i), l.offset + l.place(i+1)
}

func (l layer) place(i int) int {
	if l.at == nil {
		return i
	}
	return int(l.at[i])
}

// unescape removes one layer of escapes.
func (l layer) unescape() layer {
	out := layer{text: make([]byte, 0, len(l.text)), at: make([]int32, 0, len(l.text)+1), offset: l.offset}
	for i := 0; i < len(l.text); {
		n := 0
		if begins(l.text[i]) {
			var e char
			if e, n = escape(l.text[i:]); n > 0 {
				out.text = e.append(out.text)
			}
		}
		if n == 0 {
			n = 1
			out.text = append(out.text, l.text[i])
		}
		for len(out.at) < len(out.text) {
			out.at = append(out.at, int32(l.place(i))) //nolint:gosec // a window is short
		}
		i += n
	}
	out.at = append(out.at, int32(l.place(len(l.text)))) //nolint:gosec // a window is short
	return out
}

// begins reports whether a character begins an escape.
func begins(c byte) bool { return c == '\\' || c == '%' || c == '&' }

// char is what an escape stands for: a byte, or a character in UTF-8.
type char struct {
	value rune
	utf8  bool
}

func (c char) append(to []byte) []byte {
	if c.utf8 {
		return utf8.AppendRune(to, c.value)
	}
	return append(to, byte(c.value)) //nolint:gosec // it is a byte
}

// matters reports whether the first escaped byte is one of a set.
func (c char) matters(set *[256]bool) bool {
	var first [utf8.UTFMax]byte
	return set[c.append(first[:0])[0]]
}

// breaks reports whether the character begins a line break.
func (c char) breaks() bool { return c.value == '\n' || c.value == '\r' }

// escape reads the escape at the beginning of p and returns its length, 0 for none.
func escape(p []byte) (char, int) {
	switch p[0] {
	case '%':
		if v, ok := number(p, 1, 2, 16); ok {
			return char{value: v}, 3
		}
	case '\\':
		return backslash(p)
	case '&':
		return entity(p)
	}
	return char{}, 0
}

// backslash reads an escape of JSON, C or a shell.
func backslash(p []byte) (char, int) {
	if len(p) < 2 {
		return char{}, 0
	}
	const letters, controls = "tnrbfav", "\t\n\r\b\f\a\v"
	switch c := p[1]; {
	case c == 'u':
		return unicode(p)
	case c == 'x':
		if v, ok := number(p, 2, 2, 16); ok {
			return char{value: v}, 4
		}
	case c >= '0' && c <= '7':
		if v, ok := number(p, 1, 3, 8); ok && v < 256 {
			return char{value: v}, 4
		}
	case strings.IndexByte(letters, c) >= 0:
		return char{value: rune(controls[strings.IndexByte(letters, c)])}, 2
	case c > ' ' && c < '0', c > '9' && c < 'A', c > 'Z' && c < 'a', c > 'z' && c < 0x7f:
		return char{value: rune(c)}, 2
	}
	return char{}, 0
}

// unicode reads \u0041, or two of them for one character. A surrogate without its other half is a character of its
// own, U+FFFD, as in package encoding/json: what follows it stays.
func unicode(p []byte) (char, int) {
	v, ok := number(p, 2, 4, 16)
	if !ok {
		return char{}, 0
	}
	if utf16.IsSurrogate(v) && len(p) >= 12 && p[6] == '\\' && p[7] == 'u' {
		if low, ok := number(p, 8, 4, 16); ok {
			if both := utf16.DecodeRune(v, low); both != utf8.RuneError {
				return char{both, true}, 12
			}
		}
	}
	return char{v, true}, 6
}

// maxEntity is the length of the longest entity that is read. It leaves room for leading zeros.
const maxEntity = 16

// entity reads a character reference of XML or HTML.
func entity(p []byte) (char, int) {
	end := bytes.IndexByte(p[:min(len(p), maxEntity)], ';')
	if end < 2 {
		return char{}, 0
	}
	switch string(p[1:end]) {
	case "amp":
		return char{value: '&'}, end + 1
	case "lt":
		return char{value: '<'}, end + 1
	case "gt":
		return char{value: '>'}, end + 1
	case "quot":
		return char{value: '"'}, end + 1
	case "apos":
		return char{value: '\''}, end + 1
	}
	from, base := 2, rune(10)
	if p[2]|0x20 == 'x' {
		from, base = 3, 16
	}
	if v, ok := number(p, from, end-from, base); ok && p[1] == '#' {
		return char{v, true}, end + 1
	}
	return char{}, 0
}

// number reads a number with exactly so many digits, which is at most the greatest character.
func number(p []byte, from, digits int, base rune) (v rune, ok bool) {
	if digits < 1 || from+digits > len(p) {
		return 0, false
	}
	for _, c := range p[from : from+digits] {
		d := digit(c)
		if d >= base {
			return 0, false
		}
		if v = v*base + d; v > utf8.MaxRune {
			return 0, false
		}
	}
	return v, true
}

// digit returns the value of a hexadecimal digit, 16 for any other character.
func digit(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10
	}
	return 16
}
