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
)

// Redactor overwrites secrets with asterisks of the same length. It finds a secret
//
//   - verbatim, in lower and in upper case, and as URLs, JSON and HTML escape it;
//   - in all of these forms in base64 of either alphabet, also inside a longer encoded text (where it
//     leaves the encoding valid);
//   - in hexadecimal digits of either case, and in HPACK's Huffman code, at any bit;
//   - cut off, in all of these forms, if at least half of it and twelve bytes are left.
//
// It does not find a secret that is otherwise encoded twice, split over several messages, or compressed. The nil
// Redactor changes nothing. A Redactor is safe for concurrent use.
type Redactor struct {
	needles []needle
	short   []string // only whole values are replaced
	index   index

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
	for _, s := range secrets {
		switch {
		case s == "":
		case len(s) < least:
			r.short = append(r.short, s)
		default:
			r.needles = append(r.needles, forms(s)...)
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
	return r
}

// Margin returns the number of bytes beyond a cut that are needed to find a secret across
// the cut.
func (r *Redactor) Margin() int {
	switch {
	case r == nil:
		return 0
	case len(r.needles) == 0:
		return r.more.Load().Margin()
	}
	return max(len(r.needles[0].text), r.more.Load().Margin())
}

// Bytes returns p without secrets: p itself if it contains none, else a copy.
func (r *Redactor) Bytes(p []byte) []byte {
	if r == nil {
		return p
	}
	p = r.more.Load().Bytes(p)
	if len(r.needles) == 0 {
		return p
	}
	out := p
	r.index.each(p, func(at int, candidates []*needle) {
		for _, n := range candidates {
			same := common(p[at:], n.text)
			if same < n.enough {
				continue
			}
			if &out[0] == &p[0] {
				out = bytes.Clone(p)
			}
			n.overwrite(out, p, at, same)
		}
	})
	return out
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
