package secret

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// least is the length of the shortest secret that is searched for: overwriting every
	// occurrence of one to three bytes would destroy a record.
	least = 4
	// leastCut is the length of the shortest beginning of a secret that is overwritten
	// where the rest is missing, because a peer or a message cut it off.
	leastCut = 12
	// window is the number of bytes that are unescaped at a time.
	window = 32 << 10
	// longestForm is how many bytes of text one byte of a secret takes at most: \u0041 takes 6,
	// in base64 8, with an escape around it more, and &#0000000000065; takes 16.
	longestForm = 16
	// layers is the number of escapes around each other that are removed, as in a JSON
	// text inside a JSON text.
	layers = 3
)

// Redactor overwrites secrets with asterisks of the same length. It finds a secret
//
//   - verbatim, in hexadecimal digits of either case, and in base64 of either alphabet, also
//     inside a longer encoded text (where it leaves the encoding valid), and in lines of at least 32
//     characters;
//   - in HPACK's Huffman code, at any bit;
//   - in any of these forms with some or all characters escaped: %41, \u0041, \x41, \101,
//     \", &#65;, &#x41;, &quot;. Escapes may be nested;
//   - in any of these forms inside a base64 text;
//   - cut off, in all of these forms, if at least half of it and twelve bytes are left.
//
// A secret that is split over several messages or compressed is not found there. The nil
// Redactor changes nothing. A Redactor is safe for concurrent use.
type Redactor struct {
	needles []needle
	short   []string // only whole values are replaced
	index   index
	margin  int
	letters [256]bool // of the forms, and those that begin an escape

	mu    sync.Mutex // guards added
	added []string
	more  atomic.Pointer[Redactor] // of the secrets that Add added
}

// Open returns a redactor like New, but never nil: Add can add secrets to it.
func Open(secrets []string) *Redactor {
	if r := New(secrets); r != nil {
		return r
	}
	return &Redactor{}
}

// Add adds secrets that became known only now. What was redacted before may contain them.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := len(r.added)
	for _, s := range secrets {
		if s != "" && !slices.Contains(r.added, s) {
			r.added = append(r.added, s)
		}
	}
	if len(r.added) > known {
		r.more.Store(New(r.added))
	}
}

// New returns the redactor of some secrets, nil if there are none. Secrets of less than four
// bytes are replaced only by Value.
func New(secrets []string) *Redactor {
	r := &Redactor{}
	longest := 0
	for _, s := range secrets {
		switch {
		case s == "":
		case len(s) < least:
			r.short = append(r.short, s)
		default:
			r.needles = append(r.needles, forms(s)...)
			for _, text := range escapedForms(s) {
				r.needles = append(r.needles, newNeedle([]byte(text), stars(len(text))))
			}
			longest = max(longest, len(s))
		}
	}
	if len(r.needles) == 0 && len(r.short) == 0 {
		return nil
	}
	slices.SortFunc(r.needles, func(a, b needle) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), bytes.Compare(a.text, b.text))
	})
	r.needles = slices.CompactFunc(r.needles, func(a, b needle) bool { return string(a.text) == string(b.text) })
	if len(r.needles) > 0 {
		r.index = newIndex(r.needles)
	}
	for c := range r.letters {
		r.letters[c] = begins(byte(c)) || slices.ContainsFunc(r.needles, func(n needle) bool { return n.letters && bytes.IndexByte(n.text, byte(c)) >= 0 }) //nolint:gosec // a byte
	}
	r.margin = longest * longestForm
	return r
}

// Margin returns the number of bytes beyond a cut that are needed to find a secret across
// the cut.
func (r *Redactor) Margin() int {
	if r == nil {
		return 0
	}
	return max(r.margin, r.more.Load().Margin())
}

// Bytes returns p without secrets: p itself if it contains none, else a copy.
func (r *Redactor) Bytes(p []byte) []byte { return r.bytes(p, true) }

// Outer is Bytes, but it finds escaped forms in base64 only where they stand outside of it: it
// is for bulk data, because decoding all base64 takes several times as long.
func (r *Redactor) Outer(p []byte) []byte { return r.bytes(p, false) }

// bytes is Bytes; packed is set if base64 is decoded.
func (r *Redactor) bytes(p []byte, packed bool) []byte {
	if r == nil {
		return p
	}
	p = r.more.Load().bytes(p, packed)
	if len(r.needles) == 0 {
		return p
	}
	out := canvas{from: p}
	r.scan(layer{text: p}, packed, &out)
	for from := 0; from < len(p); from += window {
		r.unescaped(p[from:min(len(p), from+window+r.margin)], from, packed, &out)
	}
	return out.bytes()
}

// unescaped searches one window of the text, which begins at an offset, without its
// escapes.
func (r *Redactor) unescaped(p []byte, offset int, packed bool, out *canvas) {
	if !escapes(p, &r.letters) {
		return
	}
	l := layer{text: p, offset: offset}
	for range layers {
		l = l.unescape()
		r.scan(l, packed, out)
		if !escapes(l.text, &r.letters) {
			return
		}
	}
}

// scan overwrites the secrets in one layer of the text.
func (r *Redactor) scan(l layer, packed bool, out *canvas) {
	r.search(l.text, func(a, b int, n *needle) {
		for i := a; i < b; i++ {
			out.paint(l, i, n.fill[i-a])
		}
		if l.at == nil {
			out.edges(a, b, n)
		}
	})
	if packed {
		r.decode(l.text, func(i int, fill byte) { out.paint(l, i, fill) })
	}
	eachJoined(l.text, func(j *joined) {
		paint := func(i int, fill byte) { out.paint(l, j.place(i), fill) }
		r.search(j.text, func(a, b int, n *needle) {
			for i := a; i < b; i++ {
				paint(i, n.fill[i-a])
			}
		})
		if packed {
			r.decode(j.text, paint)
		}
	})
}

// search calls found for each secret in p, and for each long beginning of one. Matches may
// overlap.
func (r *Redactor) search(p []byte, found func(a, b int, n *needle)) {
	r.index.each(p, func(at int, candidates []*needle) {
		for _, n := range candidates {
			if same := common(p[at:], n.text); same >= n.enough {
				found(at, at+same, n)
			}
		}
	})
}

// common returns the length of the common prefix.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Text is Bytes for a string.
func (r *Redactor) Text(s string) string {
	if r == nil || s == "" {
		return s
	}
	p := []byte(s)
	if out := r.Bytes(p); len(out) > 0 && &out[0] != &p[0] {
		return string(out)
	}
	return s
}

// Value is Text for a whole header value, which may also be a short secret.
func (r *Redactor) Value(s string) string {
	if r == nil {
		return s
	}
	if slices.Contains(r.short, s) || r.more.Load().isShort(s) {
		return strings.Repeat("*", len(s))
	}
	return r.Text(s)
}

// isShort reports whether a value is a short secret.
func (r *Redactor) isShort(s string) bool { return r != nil && slices.Contains(r.short, s) }

// canvas is a text that is copied before its first change.
type canvas struct {
	from, to []byte
}

func (c *canvas) bytes() []byte {
	if c.to != nil {
		return c.to
	}
	return c.from
}

// set overwrites a byte, once: the first form that is found there decides.
func (c *canvas) set(i int, b byte) {
	if c.to == nil {
		c.to = bytes.Clone(c.from)
	}
	if c.to[i] == c.from[i] {
		c.to[i] = b
	}
}

// paint overwrites one character of a layer: with fill, or with asterisks if it is escaped.
func (c *canvas) paint(l layer, i int, fill byte) {
	from, to := l.span(i)
	if to-from > 1 {
		fill = '*'
	}
	for ; from < to; from++ {
		c.set(from, fill)
	}
}

// edges overwrites the bytes around a match that have some of its bits.
func (c *canvas) edges(a, b int, n *needle) {
	if n.lead && a > 0 {
		c.set(a-1, '*')
	}
	if n.trail && b-a == len(n.text) && b < len(c.from) {
		c.set(b, '*')
	}
}
