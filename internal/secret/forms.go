package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strconv"
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
	letters     bool // text has letters, which may be escaped
}

// newNeedle returns a needle whose prefixes count from a share of the length that is also
// at least leastCut.
func newNeedle(text, fill []byte) needle {
	return needle{text: text, fill: fill, letters: true, enough: min(len(text), max(leastCut, (len(text)+1)/2))}
}

// stars returns n asterisks.
func stars(n int) []byte { return bytes.Repeat([]byte("*"), n) }

// forms returns the forms of a secret that have no escapes.
func forms(s string) []needle {
	out := []needle{newNeedle([]byte(s), stars(len(s)))}
	if plus := strings.ReplaceAll(s, " ", "+"); plus != s { // in the query of a URL
		out = append(out, newNeedle([]byte(plus), stars(len(s))))
	}
	lower, masked := hex.EncodeToString([]byte(s)), []byte(hex.EncodeToString(stars(len(s))))
	out = append(out, newNeedle([]byte(lower), masked), newNeedle([]byte(strings.ToUpper(lower)), bytes.ToUpper(masked)))
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			out = appendForm(out, inBase64(s, alphabet, before))
		}
	}
	for before := range 8 {
		out = appendForm(out, inHuffman(s, before))
	}
	return out
}

// mostEscaped is the length of the longest secret whose escaped texts are made: there are hundreds of them.
const mostEscaped = 4 << 10

// escapedForms returns what escapes around a secret make of one that itself has a character which begins an escape: the
// JSON text a\"b%41 of the secret a"b%41 is a"bA once all escapes in it are removed. Around a backslash,
// the order in which they are removed decides, so it returns the usual escaped texts themselves.
func escapedForms(s string) []string {
	var out []string
	add := func(text string) {
		if len(text) >= least && text != s && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	l := layer{text: []byte(s)}
	for range layers {
		l = l.unescape()
		add(string(l.text))
	}
	if !strings.Contains(s, `\`) || len(s) > mostEscaped {
		return out
	}
	level := []string{s}
	for range layers {
		var next []string
		for _, text := range level {
			for _, escape := range escapers {
				if t := escape(text); !slices.Contains(next, t) {
					add(t)
					next = append(next, t)
				}
			}
		}
		level = next
	}
	return out
}

// escapers are the usual ways to escape a text.
var escapers = []func(string) string{ //nolint:gochecknoglobals // read only
	escapeJSON,
	func(s string) string { return unescapeHTMLInJSON.Replace(escapeJSON(s)) },
	func(s string) string { return unquoted(strconv.Quote(s)) },
	func(s string) string { return unquoted(strconv.QuoteToASCII(s)) },
	html.EscapeString,
	url.QueryEscape,
	url.PathEscape,
}

// escapeJSON returns the inside of a JSON string, as package encoding/json writes it.
func escapeJSON(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return unquoted(string(text))
}

// unescapeHTMLInJSON makes of it what other encoders write.
var unescapeHTMLInJSON = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&") //nolint:gochecknoglobals // read only

func unquoted(s string) string { return s[1 : len(s)-1] }

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
	n.letters = false
	n.lead = 5*before%8 != 0
	n.trail = len(hpack.AppendHuffmanString(nil, lead)) > to
	return n
}
