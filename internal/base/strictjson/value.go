package strictjson

import (
	"bytes"
	"iter"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the type of a JSON value.
type Kind byte

// The kinds. Invalid is the kind of the zero Value.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String names the kind for error texts: "an object".
func (k Kind) String() string {
	return [...]string{"nothing", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Value is one well-formed JSON value: its text without surrounding white space, and the
// offset of that text.
type Value struct {
	Off int
	Raw []byte
}

// Member is one member of an object. Name has its escapes removed.
type Member struct {
	Off   int // offset of the name's quotation mark
	Name  []byte
	Value Value
}

// Kind returns the type, from the first byte.
func (v Value) Kind() Kind {
	if len(v.Raw) == 0 {
		return Invalid
	}
	switch v.Raw[0] {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	case '[':
		return Array
	case '{':
		return Object
	}
	return Number
}

// Members yields the members of an object in order; nothing for other kinds.
func (v Value) Members() iter.Seq[Member] {
	return func(yield func(Member) bool) {
		if v.Kind() != Object {
			return
		}
		for i := skipSpace(v.Raw, 1); i < len(v.Raw) && v.Raw[i] == '"'; {
			nameEnd, escaped := skipString(v.Raw, i)
			start := skipSpace(v.Raw, skipSpace(v.Raw, nameEnd)+1)
			end := skipValue(v.Raw, start)
			m := Member{Off: v.Off + i, Name: unquote(v.Raw[i:nameEnd], escaped), Value: v.at(start, end)}
			if !yield(m) {
				return
			}
			i = skipSpace(v.Raw, skipSpace(v.Raw, end)+1)
		}
	}
}

// Elements yields the elements of an array in order; nothing for other kinds.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		for i := skipSpace(v.Raw, 1); i < len(v.Raw) && v.Raw[i] != ']'; {
			end := skipValue(v.Raw, i)
			if !yield(v.at(i, end)) {
				return
			}
			i = skipSpace(v.Raw, skipSpace(v.Raw, end)+1)
		}
	}
}

func (v Value) at(start, end int) Value {
	return Value{Off: v.Off + start, Raw: v.Raw[start:end]}
}

// Text returns the content of a string, "" for other kinds. Invalid characters, which Scan has
// reported, become U+FFFD.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	return string(v.Bytes())
}

// Bytes returns Text as bytes. The result shares Raw if the string has neither escapes nor
// invalid UTF-8, and must not be modified.
func (v Value) Bytes() []byte {
	if v.Kind() != String {
		return nil
	}
	_, escaped := skipString(v.Raw, 0)
	return unquote(v.Raw, escaped)
}

// True reports whether the value is the literal true.
func (v Value) True() bool { return len(v.Raw) > 0 && v.Raw[0] == 't' }

// Int returns the value of an integer between lo and hi, in any notation (1, 1.0, 10e-1); ok is
// false for everything else.
func (v Value) Int(lo, hi int64) (n int64, ok bool) {
	if v.Kind() != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.Raw), 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(string(v.Raw), 64)
		if n = int64(f); ferr != nil || f < -1<<53 || f > 1<<53 || float64(n) != f {
			return 0, false
		}
	}
	return n, n >= lo && n <= hi
}

func skipSpace(p []byte, i int) int {
	for i < len(p) && (p[i] == ' ' || p[i] == '\t' || p[i] == '\n' || p[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at p[i].
func skipString(p []byte, i int) (end int, escaped bool) {
	quote := -1 // the next one, also if it is escaped
	for i++; i < len(p); {
		if quote < i {
			n := bytes.IndexByte(p[i:], '"')
			if n < 0 {
				break
			}
			quote = i + n
		}
		n := bytes.IndexByte(p[i:quote], '\\')
		if n < 0 {
			return quote + 1, escaped
		}
		escaped = true
		i += n + 2
	}
	return len(p), escaped
}

// skipValue returns the index after the well-formed value that begins at p[i].
func skipValue(p []byte, i int) int {
	depth := 0
	for i < len(p) {
		switch p[i] {
		case '"':
			i, _ = skipString(p, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
			continue
		default:
			i = skipScalar(p, i)
		}
		if depth <= 0 {
			return i
		}
	}
	return len(p)
}

// skipScalar returns the index after a number or a literal.
func skipScalar(p []byte, i int) int {
	for i < len(p) {
		switch p[i] {
		case ',', ':', ']', '}', '"', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

// unquote removes the quotation marks and any escapes of a well-formed string.
func unquote(raw []byte, escaped bool) []byte {
	in := raw[1 : len(raw)-1]
	if !escaped && utf8.Valid(in) {
		return in
	}
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		switch c := in[i]; {
		case c == '\\' && in[i+1] == 'u':
			r, n, _ := unicodeEscape(in[i:])
			out = utf8.AppendRune(out, r)
			i += n
		case c == '\\':
			out = append(out, simpleEscape(in[i+1]))
			i += 2
		default:
			r, n := utf8.DecodeRune(in[i:])
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	return out
}

func simpleEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// unicodeEscape decodes \uXXXX, or a pair of them, at the beginning of p. n is 0 if digits are
// missing; a lone surrogate becomes U+FFFD.
func unicodeEscape(p []byte) (r rune, n int, lone bool) {
	r, ok := hex4(p)
	if !ok {
		return 0, 0, false
	}
	if !utf16.IsSurrogate(r) {
		return r, 6, false
	}
	if low, ok := hex4(p[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12, false
		}
	}
	return utf8.RuneError, 6, true
}

func hex4(p []byte) (rune, bool) {
	if len(p) < 6 || p[0] != '\\' || p[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range p[2:6] {
		d := rune(HexDigit(c))
		if d < 0 {
			return 0, false
		}
		r = r<<4 | d
	}
	return r, true
}

// HexDigit returns the value of a hexadecimal digit, -1 for any other byte.
func HexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// Empty reports whether v is an object or an array without content.
func Empty(v Value) bool {
	if k := v.Kind(); k != Object && k != Array {
		return false
	}
	return skipSpace(v.Raw, 1) == len(v.Raw)-1
}
