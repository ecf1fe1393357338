package testkit

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// Encodings are the ways in which a gateway may echo a text, by name.
var Encodings = map[string]func(string) string{
	"verbatim":            func(s string) string { return s },
	"in hexadecimal":      func(s string) string { return hex.EncodeToString([]byte(s)) },
	"in HEXADECIMAL":      func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"in base64":           func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"in base64 after 1":   func(s string) string { return base64.StdEncoding.EncodeToString([]byte("?" + s + ">>?")) },
	"in base64 after 2":   func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte("??" + s + "?")) },
	"in base64 for URLs":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("??" + s)) },
	"in Huffman code":     func(s string) string { return string(hpack.AppendHuffmanString(nil, s)) },
	"in Huffman, shifted": func(s string) string { return string(hpack.AppendHuffmanString(nil, "bad token "+s+"!")) },
	"in lower case":       strings.ToLower,
	"in upper case":       strings.ToUpper,
	"in a query":          url.QueryEscape,
	"in a path":           url.PathEscape,
	"in JSON":             inJSON,
	"in HTML":             html.EscapeString,
}

func inJSON(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(text[1 : len(text)-1])
}

// Remains returns the names of the encodings in which a text has a secret, the greater
// part of one, or the second half.
func Remains(text []byte, secret string) []string {
	var names []string
	for name, encode := range Encodings {
		form := encode(secret)
		pieces := []string{form[:len(form)*3/4], form[len(form)/2:]}
		if name == "in Huffman, shifted" || strings.HasPrefix(name, "in base64 after") {
			pieces = []string{form[len(form)/3 : len(form)-4]} // the rest is not the secret
		}
		for _, piece := range pieces {
			if strings.Contains(string(text), piece) {
				names = append(names, name)
			}
			for skip := range 3 { // as in a record of bytes
				packed := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", skip) + piece))
				if skip > 0 {
					packed = packed[4:]
				}
				if strings.HasSuffix(packed, "=") {
					packed = packed[:len(packed)-4] // what follows in the record is in it, too
				}
				if strings.Contains(string(text), packed) {
					names = append(names, name+", recorded")
				}
			}
		}
	}
	return names
}
