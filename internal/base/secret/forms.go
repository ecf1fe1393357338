package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// needle is one form of a secret.
type needle struct {
	text   []byte
	fill   []byte // what replaces text
	enough int    // length of a prefix that is replaced as well
	// lead and trail are set where the byte before or after text has bits of the secret.
	lead, trail bool
}

// newNeedle returns a needle whose prefixes count from a share of the length that is also
// at least leastCut.
func newNeedle(text, fill []byte) needle {
	return needle{text: text, fill: fill, enough: min(len(text), max(leastCut, (len(text)+1)/2))}
}

// overwrite replaces a needle whose first n bytes stand at a place of from, in a copy of from.
func (n *needle) overwrite(to, from []byte, at, length int) {
	set := func(i int, c byte) {
		if i >= 0 && i < len(to) && to[i] == from[i] {
			to[i] = c
		}
	}
	for i, c := range n.fill[:length] {
		set(at+i, c)
	}
	if n.lead {
		set(at-1, '*')
	}
	if n.trail && length == len(n.text) {
		set(at+length, '*')
	}
}

// stars returns n asterisks.
func stars(n int) []byte { return bytes.Repeat([]byte("*"), n) }

// forms returns the forms of a secret.
func forms(s string) []needle {
	texts := append([]string{s, strings.ToLower(s), strings.ToUpper(s)}, escaped(s)...)
	slices.Sort(texts)
	var out []needle
	for _, text := range slices.Compact(texts) {
		out = append(out, newNeedle([]byte(text), stars(len(text))))
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			for before := range 3 {
				out = appendForm(out, inBase64(text, alphabet, before))
			}
		}
	}
	lower, masked := hex.EncodeToString([]byte(s)), []byte(hex.EncodeToString(stars(len(s))))
	out = append(out, newNeedle([]byte(lower), masked), newNeedle([]byte(strings.ToUpper(lower)), bytes.ToUpper(masked)))
	for before := range 8 {
		out = appendForm(out, inHuffman(s, before))
	}
	return out
}

// escaped returns a secret as URLs, JSON and HTML write it.
func escaped(s string) []string {
	out := []string{html.EscapeString(s)}
	for _, text := range []string{url.QueryEscape(s), url.PathEscape(s)} {
		out = append(out, text, lowerPercent(text))
	}
	for _, escapesHTML := range []bool{true, false} {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escapesHTML)
		_ = e.Encode(s) // a string always can be
		out = append(out, b.String()[1:b.Len()-2])
	}
	return out
}

// lowerPercent writes the digits of percent-encoded bytes in lower case.
func lowerPercent(s string) string {
	p := []byte(s)
	for i, c := range p {
		if c == '%' && i+2 < len(p) {
			copy(p[i:], bytes.ToLower(p[i:i+3]))
		}
	}
	return string(p)
}

// appendForm appends a needle that is long enough not to be found by chance.
func appendForm(out []needle, n needle) []needle {
	if len(n.text) < least {
		return out
	}
	return append(out, n)
}

// inBase64 returns the base64 characters that a secret alone determines, behind a number of
// other bytes. Their replacement is the base64 of as many asterisks.
func inBase64(s string, alphabet *base64.Encoding, before int) needle {
	from, to := (8*before+5)/6, 8*(before+len(s))/6
	lead := strings.Repeat("x", before)
	text := alphabet.EncodeToString([]byte(lead + s))
	fill := alphabet.EncodeToString([]byte(lead + string(stars(len(s)))))
	return newNeedle([]byte(text[from:to]), []byte(fill[from:to]))
}

// inHuffman returns the whole bytes that a secret alone determines in Huffman code (RFC
// 7541, section 5.2), behind a number of digits 0, which have 5 bits each.
func inHuffman(s string, before int) needle {
	lead := strings.Repeat("0", before) + s
	// The codes of 0 and ~ differ in their first bit: the end of the secret.
	text := hpack.AppendHuffmanString(nil, lead+"0")
	to := common(text, hpack.AppendHuffmanString(nil, lead+"~"))
	from := min((5*before+7)/8, to)
	n := newNeedle(text[from:to], stars(to-from))
	n.lead = 5*before%8 != 0
	n.trail = len(hpack.AppendHuffmanString(nil, lead)) > to
	return n
}
