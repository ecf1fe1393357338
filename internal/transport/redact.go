package transport

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"golang.org/x/net/http2/hpack"

	"assay/internal/bundle"
)

// leastSecret is the shortest text that is searched for: overwriting every
// occurrence of one to three bytes would destroy a record.
const leastSecret = 4

// redactor overwrites secrets with asterisks of the same length. The nil
// redactor leaves everything as it is.
type redactor struct {
	secrets [][]byte // longest first, because one may contain another; each also Huffman-coded
	short   []string // too short for a search: only a whole header value is replaced
	longest int
}

func newRedactor(secrets []string) *redactor {
	r := &redactor{}
	for _, s := range secrets {
		switch {
		case s == "":
		case len(s) < leastSecret:
			r.short = append(r.short, s)
		default:
			r.secrets = append(r.secrets, []byte(s))
			r.longest = max(r.longest, len(s))
			// HTTP/2 has header values in Huffman code (RFC 7541, section 5.2), which begins
			// at a byte boundary.
			if packed := hpack.AppendHuffmanString(nil, s); len(packed) >= leastSecret {
				r.secrets = append(r.secrets, packed)
				r.longest = max(r.longest, len(packed))
			}
		}
	}
	if len(r.secrets) == 0 && len(r.short) == 0 {
		return nil
	}
	slices.SortFunc(r.secrets, func(a, b []byte) int { return cmp.Compare(len(b), len(a)) })
	return r
}

// margin is how many bytes beyond a cut are needed to find a secret across the cut.
func (r *redactor) margin() int {
	if r == nil {
		return 0
	}
	return r.longest
}

// bytes returns p without secrets: p itself if it contains none, else a copy.
func (r *redactor) bytes(p []byte) []byte {
	if r == nil {
		return p
	}
	copied := false
	for _, s := range r.secrets {
		for from := 0; ; {
			i := bytes.Index(p[from:], s)
			if i < 0 {
				break
			}
			if !copied {
				p, copied = bytes.Clone(p), true
			}
			from += i
			for j := range s {
				p[from+j] = '*'
			}
			from += len(s)
		}
	}
	return p
}

// text is bytes for a string.
func (r *redactor) text(s string) string {
	if r == nil || s == "" {
		return s
	}
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, string(secret), strings.Repeat("*", len(secret)))
	}
	return s
}

// headers returns a copy without secrets in the values.
func (r *redactor) headers(hs []bundle.Header) []bundle.Header {
	out := slices.Clone(hs)
	if r == nil {
		return out
	}
	for i := range out {
		out[i].Value = r.text(out[i].Value)
		if slices.Contains(r.short, out[i].Value) {
			out[i].Value = strings.Repeat("*", len(out[i].Value))
		}
	}
	return out
}
