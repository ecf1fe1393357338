package strictjson

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Reason classifies a Problem.
type Reason uint8

// The reasons. Syntax and Depth make the text unusable; with the others Scan still returns
// the value.
const (
	Syntax    Reason = iota + 1 // violates the grammar of RFC 8259
	Depth                       // nested deeper than MaxDepth
	Trailing                    // more than white space after the value
	Duplicate                   // a duplicate member name (RFC 7493, section 2.3)
	UTF8                        // invalid UTF-8, or an escaped lone surrogate (RFC 7493, section 2.1)
)

// MaxDepth is the maximum nesting of arrays and objects, the same as in encoding/json and
// protojson.
const MaxDepth = 10000

// maxProblems limits the problems of one text.
const maxProblems = 16

// manyKeys is the object size from which a map finds duplicate names: below it, a linear
// search is faster and does not allocate.
const manyKeys = 32

// keepKeys is the capacity for names that a Scanner keeps between two texts.
const keepKeys = 256

// Problem is one breach with its offset.
type Problem struct {
	Off    int // byte offset in the text
	Reason Reason
	Detail string
}

// Scanner checks JSON texts. The zero value is ready to use; reuse saves allocations. It is
// not safe for concurrent use.
type Scanner struct {
	data     []byte
	pos      int
	depth    int
	keys     [][]byte
	problems []Problem
}

// Scan reads p as exactly one JSON value. It returns the zero Value for a malformed text, and
// at most 16 problems by offset. The problems are valid until the next Scan, the value as
// long as p does not change.
func (s *Scanner) Scan(p []byte) (Value, []Problem) {
	s.data, s.pos, s.depth = p, 0, 0
	s.keys, s.problems = s.keys[:0], s.problems[:0]
	v, ok := s.text()
	s.release()
	if len(s.problems) > 1 {
		slices.SortStableFunc(s.problems, func(a, b Problem) int { return cmp.Compare(a.Off, b.Off) })
	}
	if !ok {
		return Value{}, s.problems
	}
	return v, s.problems
}

// release drops the text and excessive capacity.
func (s *Scanner) release() {
	s.data = nil
	if cap(s.keys) > keepKeys {
		s.keys = nil
	}
	clear(s.keys[:cap(s.keys)])
}

func (s *Scanner) text() (Value, bool) {
	s.space()
	start := s.pos
	if !s.value() {
		return Value{}, false
	}
	v := Value{Off: start, Raw: s.data[start:s.pos]}
	s.space()
	if s.pos < len(s.data) {
		s.report(s.pos, Trailing, fmt.Sprintf("%d bytes after the JSON value", len(s.data)-s.pos))
	}
	return v, true
}

func (s *Scanner) report(off int, r Reason, detail string) {
	if len(s.problems) < maxProblems || r <= Depth {
		s.problems = append(s.problems, Problem{Off: off, Reason: r, Detail: detail})
	}
}

// fail reports a syntax error at the current position.
func (s *Scanner) fail(expected string) bool {
	if s.pos >= len(s.data) {
		s.report(len(s.data), Syntax, "the text ends where "+expected+" was expected")
		return false
	}
	s.report(s.pos, Syntax, fmt.Sprintf("%q where %s was expected", s.data[s.pos:s.pos+1], expected))
	return false
}

// peek returns the next byte, 0 at the end (NUL is never legal outside a string).
func (s *Scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *Scanner) space() { s.pos = skipSpace(s.data, s.pos) }

func (s *Scanner) value() bool {
	switch c := s.peek(); {
	case c == '"':
		_, ok := s.str()
		return ok
	case c == '{':
		return s.nested((*Scanner).object)
	case c == '[':
		return s.nested((*Scanner).array)
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	}
	return s.fail("a JSON value")
}

func (s *Scanner) nested(read func(*Scanner) bool) bool {
	if s.depth == MaxDepth {
		s.report(s.pos, Depth, fmt.Sprintf("nested deeper than %d", MaxDepth))
		return false
	}
	s.depth++
	ok := read(s)
	s.depth--
	return ok
}

func (s *Scanner) literal(word string) bool {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return s.fail("a JSON value")
	}
	s.pos += len(word)
	return true
}

func (s *Scanner) object() bool {
	names := nameSet{scanner: s, base: len(s.keys)}
	s.pos++
	s.space()
	if s.peek() == '}' {
		s.pos++
		return true
	}
	for {
		if s.peek() != '"' {
			return s.fail("a member name")
		}
		off := s.pos
		escaped, ok := s.str()
		if !ok {
			return false
		}
		names.add(off, unquote(s.data[off:s.pos], escaped))
		if !s.memberValue() {
			return false
		}
		switch s.peek() {
		case ',':
			s.pos++
			s.space()
		case '}':
			s.pos++
			s.keys = s.keys[:names.base]
			return true
		default:
			return s.fail("a comma or the end of the object")
		}
	}
}

// memberValue reads ": value" and the white space around it.
func (s *Scanner) memberValue() bool {
	s.space()
	if s.peek() != ':' {
		return s.fail("a colon")
	}
	s.pos++
	s.space()
	if !s.value() {
		return false
	}
	s.space()
	return true
}

func (s *Scanner) array() bool {
	s.pos++
	s.space()
	if s.peek() == ']' {
		s.pos++
		return true
	}
	for {
		if !s.value() {
			return false
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
			s.space()
		case ']':
			s.pos++
			return true
		default:
			return s.fail("a comma or the end of the array")
		}
	}
}

// number reads -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *Scanner) number() bool {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return false
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return false
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		return s.digits()
	}
	return true
}

func (s *Scanner) digits() bool {
	start := s.pos
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > start || s.fail("a digit")
}

// str reads a string and reports whether it contains escapes. It reports invalid UTF-8 once
// per string.
func (s *Scanner) str() (escaped, ok bool) {
	s.pos++
	bad := false
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return escaped, true
		case c == '\\':
			escaped = true
			if !s.escape(&bad) {
				return true, false
			}
		case c < 0x20:
			return escaped, s.fail("a string without control characters")
		case c < utf8.RuneSelf:
			s.pos++
		default:
			r, n := utf8.DecodeRune(s.data[s.pos:])
			if r == utf8.RuneError && n == 1 {
				s.reportUTF8(&bad, fmt.Sprintf("byte 0x%02x is not UTF-8", c))
			}
			s.pos += n
		}
	}
	return escaped, s.fail("the end of a string")
}

func (s *Scanner) reportUTF8(bad *bool, detail string) {
	if !*bad {
		s.report(s.pos, UTF8, detail)
	}
	*bad = true
}

// escape reads one backslash escape, both halves of a surrogate pair at once.
func (s *Scanner) escape(bad *bool) bool {
	if s.pos+1 >= len(s.data) {
		s.pos = len(s.data)
		return s.fail("an escape")
	}
	switch s.data[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return true
	case 'u':
		_, n, lone := unicodeEscape(s.data[s.pos:])
		if n == 0 {
			s.pos = min(s.pos+2, len(s.data))
			return s.fail("four hexadecimal digits")
		}
		if lone {
			s.reportUTF8(bad, "an escaped lone surrogate is not a character")
		}
		s.pos += n
		return true
	}
	s.pos++
	return s.fail("an escape")
}

// nameSet finds duplicate names of one object. The names of all open objects share the
// scanner's stack.
type nameSet struct {
	scanner *Scanner
	base    int
	seen    map[string]struct{} // only for objects with many members
}

func (n *nameSet) add(off int, name []byte) {
	s := n.scanner
	own := s.keys[n.base:]
	if n.has(own, name) {
		s.report(off, Duplicate, fmt.Sprintf("the member name %.64q occurs twice in one object", name))
		return
	}
	if n.seen != nil {
		n.seen[string(name)] = struct{}{}
		return
	}
	s.keys = append(s.keys, name)
	if len(own)+1 == manyKeys {
		n.seen = make(map[string]struct{}, 2*manyKeys)
		for _, k := range s.keys[n.base:] {
			n.seen[string(k)] = struct{}{}
		}
	}
}

func (n *nameSet) has(own [][]byte, name []byte) bool {
	if n.seen != nil {
		_, dup := n.seen[string(name)]
		return dup
	}
	for _, k := range own {
		if bytes.Equal(k, name) {
			return true
		}
	}
	return false
}
