package scenarios

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"assay/internal/envd/call"
)

// maxResolved is the most bytes that all forms of Bytes in a script can generate, for all iterations
// at one time: 64 MiB.
const maxResolved = 64 << 20

// IsZero reports whether no form is set.
func (b Bytes) IsZero() bool {
	return b.Text == nil && b.Hex == nil && b.JSON == nil && b.Seq == nil && b.Repeat == nil && b.Gen == nil
}

// Resolve returns the byte string that b describes; set is false when b has none of
// the forms. If vars is not nil, it expands ${...} in each string inside a JSON value;
// text, hex and the generated forms are not expanded, since a shell gives ${...} its own
// meaning. Forms that Parse refuses resolve to nothing.
func (b Bytes) Resolve(vars func(string) string) (p []byte, set bool) {
	switch {
	case b.Text != nil:
		return []byte(*b.Text), true
	case b.Hex != nil:
		p, err := hexBytes(*b.Hex)
		return p, err == nil
	case b.JSON != nil:
		v := b.JSON
		if vars != nil {
			v = mapStrings(v, func(s string) any { return vars(s) })
		}
		p, err := call.Marshal(v)
		return p, err == nil
	case b.Seq != nil:
		return b.Seq.bytes(make([]byte, 0, b.generated())), true
	case b.Repeat != nil:
		return bytes.Repeat([]byte(b.Repeat.Text), max(0, b.Repeat.Times)), true
	case b.Gen != nil:
		return b.Gen.bytes(), true
	default:
		return nil, false
	}
}

// check reports an error in b to the parser.
func (b Bytes) check() error {
	if b.Seq != nil && b.Seq.To < b.Seq.From {
		return fmt.Errorf("seq goes from %d up to %d", b.Seq.From, b.Seq.To)
	}
	if b.generated() > maxResolved {
		return fmt.Errorf("this generates more than %d bytes", maxResolved)
	}
	return nil
}

// generated returns how many bytes b generates at most, or more than maxResolved.
func (b Bytes) generated() int64 {
	switch {
	case b.Seq != nil:
		longest := max(len(strconv.Itoa(b.Seq.From)), len(strconv.Itoa(b.Seq.To))) + 1 // with the newline
		numbers := uint64(b.Seq.To) - uint64(b.Seq.From)                               //nolint:gosec // it wraps to the difference
		return times(int64(longest), int64(min(numbers, math.MaxInt64-1))+1)
	case b.Repeat != nil:
		return times(int64(len(b.Repeat.Text)), int64(b.Repeat.Times))
	case b.Gen != nil:
		return int64(b.Gen.Bytes)
	}
	return 0
}

// times returns a*b, or more than maxResolved instead of a number that is larger still.
func times(a, b int64) int64 {
	if a > 0 && b > maxResolved/a {
		return maxResolved + 1
	}
	return a * max(0, b)
}

// hexBytes decodes hexadecimal digits and ignores white space. The schema accepts nothing else.
func hexBytes(s string) ([]byte, error) {
	return hex.DecodeString(strings.Join(strings.Fields(s), ""))
}

// mapStrings returns a copy of v with f applied to every string except keys.
func mapStrings(v any, f func(string) any) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = mapStrings(e, f)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = mapStrings(e, f)
		}
		return out
	default:
		return v
	}
}

func (s Seq) bytes(p []byte) []byte {
	for i := s.From; i <= s.To; i++ {
		p = append(strconv.AppendInt(p, int64(i), 10), '\n')
		if i == math.MaxInt { // there is no next one
			break
		}
	}
	return p
}

// bytes draws bytes, or one of 26 letters each, from a PCG seeded with (Seed, Seed).
func (g Gen) bytes() []byte {
	r := rand.New(rand.NewPCG(g.Seed, g.Seed))
	p := make([]byte, max(0, g.Bytes))
	for i := range p {
		switch {
		case !g.Lines:
			p[i] = byte(r.Uint32())
		case i%64 == 63:
			p[i] = '\n'
		default:
			p[i] = byte('a' + r.IntN(26))
		}
	}
	return p
}

// Bytes returns the bytes of Hex; set is false when it is absent or invalid.
func (m *BodyMatch) Bytes() (p []byte, set bool) {
	if m.Hex == nil {
		return nil, false
	}
	p, err := hexBytes(*m.Hex)
	return p, err == nil
}

// String describes m for messages: `holding {"index":2}`.
func (m *BodyMatch) String() string {
	var words []string
	add := func(word string, v any) {
		text, err := call.Marshal(v)
		if err != nil {
			text = fmt.Append(nil, v)
		}
		words = append(words, word+" "+string(text))
	}
	if m.Text != nil {
		add("equal to", *m.Text)
	}
	if m.Hex != nil {
		add("of the bytes", *m.Hex)
	}
	if m.Contains != nil {
		add("with the text", *m.Contains)
	}
	if m.Empty != nil {
		add("empty:", *m.Empty)
	}
	if m.Matches != "" {
		add("that matches", m.Matches)
	}
	if m.JSON != nil {
		add("equal to", m.JSON)
	}
	if m.JSONHas != nil {
		add("holding", m.JSONHas)
	}
	if m.JSONList != nil {
		add("holding exactly", m.JSONList)
	}
	if len(m.Fields) > 0 {
		add("with the fields", m.Fields)
	}
	if m.Of != nil {
		words = append(words, "of the bytes of the script")
	}
	if m.Length != nil {
		add("of the length", *m.Length)
	}
	if m.Digest != "" {
		add("of the SHA-256", m.Digest)
	}
	return strings.Join(words, " and ")
}
