package reproduce

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"assay/internal/bundle"
)

// TokenVariable is the environment variable of the access token, in every text
// and for the program itself.
const TokenVariable = "ASSAY_TOKEN"

// secretHeader is a request header whose value is a secret: a text names a
// variable of the environment instead.
type secretHeader struct {
	name, value, variable string
	masked                string // how a record holds the value
}

// secretHeaders are those of the target's headers that hold one of its secrets.
func secretHeaders(headers []bundle.Header, secrets []string) []secretHeader {
	var out []secretHeader
	for _, h := range headers {
		masked := h.Value
		for _, s := range secrets {
			if s != "" {
				masked = strings.ReplaceAll(masked, s, strings.Repeat("*", len(s)))
			}
		}
		if masked == h.Value {
			continue
		}
		out = append(out, secretHeader{name: h.Name, value: h.Value, variable: variableOf(h.Name), masked: masked})
	}
	return out
}

// variableOf is the variable of the environment that holds a header's value.
func variableOf(header string) string {
	if strings.EqualFold(header, "x-access-token") {
		return TokenVariable
	}
	return "ASSAY_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, header)
}

// errSecret says that a secret stands where no variable can take its place.
var errSecret = errors.New("a secret stands in its bytes, in a form that a script cannot name")

// hole is a place in a byte string where the value of a variable belongs.
type hole struct {
	from, to int
	variable string
}

// holes finds the secrets in what was sent on HTTP/1.1: the values of the header
// lines that hold them. On HTTP/2 they are part of a compressed block.
func holes(data []byte, secrets []secretHeader) []hole {
	var out []hole
	for _, s := range secrets {
		line := []byte("\r\n" + s.name + ": " + s.masked + "\r\n")
		lower := bytes.ToLower(data)
		for from := 0; ; {
			i := bytes.Index(lower[from:], bytes.ToLower(line))
			if i < 0 {
				break
			}
			at := from + i + 2 + len(s.name) + 2
			out = append(out, hole{from: at, to: at + len(s.masked), variable: s.variable})
			from = at
		}
	}
	slices.SortFunc(out, func(a, b hole) int { return a.from - b.from })
	return out
}

// leaks reports whether a masked secret stands anywhere but in the holes.
func leaks(data []byte, hs []hole, secrets []secretHeader) bool {
	rest := bytes.Clone(data)
	for _, h := range hs {
		for i := h.from; i < h.to; i++ {
			rest[i] = ' '
		}
	}
	return slices.ContainsFunc(secrets, func(s secretHeader) bool { return bytes.Contains(rest, []byte(s.masked)) })
}
