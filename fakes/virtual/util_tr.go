package virtual

import (
	"slices"
	"strings"
)

// trProgram is tr [-cds] SET1 [SET2]: ranges, backslash escapes and [:classes:], by bytes.
func trProgram(t *task) int {
	flags, args, ok := t.letters("cCdst")
	if !ok {
		return 1
	}
	del, squeeze := strings.Contains(flags, "d"), strings.Contains(flags, "s")
	need := 2
	if del != squeeze {
		need = 1
	}
	if len(args) < need {
		return t.fail("missing operand")
	}
	if len(args) > 2 || len(args) == 2 && del && !squeeze {
		return t.fail("extra operand '%s'", args[len(args)-1])
	}
	from, ok := trSet(args[0])
	if !ok {
		return t.fail("the set is too long")
	}
	if strings.ContainsAny(flags, "cC") {
		from = complement(from)
	}
	var to []byte
	if len(args) > 1 {
		if to, ok = trSet(args[1]); !ok {
			return t.fail("the set is too long")
		}
	}
	tr := newTranslation(from, to, len(args) > 1, del, squeeze)
	if tr == nil {
		return t.fail("when not truncating set1, string2 must be non-empty")
	}
	return t.eachInput(nil, func(_ string, f *file) error {
		return t.chunks(f, func(b []byte) error {
			if out := tr.apply(b); len(out) > 0 {
				return t.p.write(1, out)
			}
			return nil
		})
	})
}

// translation maps each byte to its replacement.
type translation struct {
	to      [256]byte
	drop    [256]bool
	squeeze [256]bool
	last    int // the byte written last, -1 at the start
}

// newTranslation returns nil if there is a second set and nothing in it.
func newTranslation(from, to []byte, second, del, squeeze bool) *translation {
	tr := &translation{last: -1}
	for i := range tr.to {
		tr.to[i] = byte(i)
	}
	if second && len(to) == 0 && !del {
		return nil
	}
	for i, c := range from {
		switch {
		case del:
			tr.drop[c] = true
		case len(to) > 0:
			tr.to[c] = to[min(i, len(to)-1)]
		}
	}
	if !squeeze {
		return tr
	}
	last := from
	if second {
		last = to
	}
	for _, c := range last {
		tr.squeeze[c] = true
	}
	return tr
}

// apply translates in place.
func (tr *translation) apply(b []byte) []byte {
	out := b[:0]
	for _, c := range b {
		if tr.drop[c] {
			continue
		}
		c = tr.to[c]
		if tr.squeeze[c] && tr.last == int(c) {
			continue
		}
		tr.last = int(c)
		out = append(out, c)
	}
	return out
}

func complement(set []byte) []byte {
	var out []byte
	for c := range 256 {
		if !slices.Contains(set, byte(c)) {
			out = append(out, byte(c))
		}
	}
	return out
}

// maxSet limits the bytes of a set: a range of four characters stands for 256.
const maxSet = 64 << 10

// trSet lists the bytes of a set in its order; not ok for more than maxSet.
func trSet(s string) (out []byte, ok bool) {
	for i := 0; i < len(s); {
		if len(out) > maxSet {
			return nil, false
		}
		if strings.HasPrefix(s[i:], "[:") {
			if name, _, ok := strings.Cut(s[i+2:], ":]"); ok {
				out = append(out, class(name)...)
				i += len(name) + 4
				continue
			}
		}
		lo, n := trByte(s[i:])
		i += n
		if i+1 < len(s) && s[i] == '-' {
			hi, n := trByte(s[i+1:])
			i += n + 1
			for c := int(lo); c <= int(hi); c++ {
				out = append(out, byte(c))
			}
			continue
		}
		out = append(out, lo)
	}
	return out, true
}

// trByte reads one byte, possibly escaped, and returns its length.
func trByte(s string) (c byte, n int) {
	if s[0] != '\\' || len(s) == 1 {
		return s[0], 1
	}
	if n := digits(s[1:], 3, 8); n > 0 {
		text, _ := unescape(s[:n+1], escapesPrintf)
		return text[0], n + 1
	}
	if at := strings.IndexByte("abfnrtv", s[1]); at >= 0 {
		return "\a\b\f\n\r\t\v"[at], 2
	}
	return s[1], 2
}

func class(name string) []byte {
	in := map[string]func(c byte) bool{
		"lower":  func(c byte) bool { return c >= 'a' && c <= 'z' },
		"upper":  func(c byte) bool { return c >= 'A' && c <= 'Z' },
		"digit":  func(c byte) bool { return c >= '0' && c <= '9' },
		"alpha":  func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' },
		"alnum":  func(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' },
		"space":  func(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' },
		"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
		"cntrl":  func(c byte) bool { return c < ' ' || c == 127 },
		"print":  func(c byte) bool { return c >= ' ' && c < 127 },
		"graph":  func(c byte) bool { return c > ' ' && c < 127 },
		"punct":  func(c byte) bool { return c > ' ' && c < 127 && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') },
		"xdigit": func(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' },
	}[name]
	var out []byte
	for c := range 256 {
		if in != nil && in(byte(c)) {
			out = append(out, byte(c))
		}
	}
	return out
}
