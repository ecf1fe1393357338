package reproduce

import (
	"bytes"
	"errors"
	"fmt"
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

// secretHeaders are those of the target's headers that hold one of its secrets,
// each with a variable of its own: ASSAY_TOKEN is that of x-access-token, and a
// name that is taken is numbered (ASSAY_X_KEY, ASSAY_X_KEY_2).
func secretHeaders(headers []bundle.Header, secrets []string) []secretHeader {
	var out []secretHeader
	taken := map[string]bool{}
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
		base := variableOf(h.Name)
		variable := base
		reserved := base == TokenVariable && !isToken(h.Name)
		for n := 2; taken[variable] || reserved && variable == TokenVariable; n++ {
			variable = fmt.Sprintf("%s_%d", base, n)
		}
		taken[variable] = true
		out = append(out, secretHeader{name: h.Name, value: h.Value, variable: variable, masked: masked})
	}
	return out
}

// isToken reports whether a header is the one of the access token.
func isToken(header string) bool { return strings.EqualFold(header, "x-access-token") }

// required is the expansion of a variable that a shell refuses when it is not set
// or empty: a request without its secret shows nothing.
func required(variable string) string {
	what := "the value of the secret header that was sent"
	if variable == TokenVariable {
		what = "the access token"
	}
	return "${" + variable + ":?set it to " + what + "}"
}

// demand is the command that ends a shell, or the line that it stands in, unless
// the variables are set; "" for none.
func demand(variables []string) string {
	if len(variables) == 0 {
		return ""
	}
	words := []string{":"}
	for _, v := range variables {
		words = append(words, `"`+required(v)+`"`)
	}
	return strings.Join(words, " ")
}

// variableOf is the variable of the environment that a header's value asks for.
func variableOf(header string) string {
	if isToken(header) {
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

// turns gives out the variables of a request's fields in the order of the fields:
// secrets of one name and one length look the same in a record, and take turns.
type turns struct {
	secrets []secretHeader
	given   map[string]int
}

func newTurns(secrets []secretHeader) *turns {
	return &turns{secrets: secrets, given: map[string]int{}}
}

// variable is the variable of the next field that looks like this; false for a
// field without a secret.
func (t *turns) variable(name, masked string) (string, bool) {
	var alike []string
	for _, s := range t.secrets {
		if strings.EqualFold(s.name, name) && s.masked == masked {
			alike = append(alike, s.variable)
		}
	}
	if len(alike) == 0 {
		return "", false
	}
	k := strings.ToLower(name) + ":" + masked
	n := t.given[k]
	t.given[k]++
	return alike[n%len(alike)], true
}

// errSecret says that a secret stands where no variable can take its place.
var errSecret = errors.New("a secret stands in its bytes, in a form that a script cannot name")

// hole is a place in a byte string where the value of a variable belongs.
type hole struct {
	from, to int
	variable string
}

// holes finds the secrets in what was sent on HTTP/1.1: the values of the header
// lines that hold them. On HTTP/2 they are part of a compressed block. They come in
// the order of their places, and no two share a byte.
func holes(data []byte, secrets []secretHeader) []hole {
	var out []hole
	lower := lowered(data)
	next := newTurns(secrets)
	for at := 0; at < len(data); at++ {
		if data[at] != '\r' {
			continue
		}
		for _, s := range secrets {
			lead := len("\r\n") + len(s.name) + len(": ")
			if !bytes.HasPrefix(lower[at:], lowered([]byte("\r\n"+s.name+": "))) || !bytes.HasPrefix(data[at+lead:], []byte(s.masked+"\r\n")) {
				continue
			}
			variable, _ := next.variable(s.name, s.masked)
			out = append(out, hole{from: at + lead, to: at + lead + len(s.masked), variable: variable})
			at += lead + len(s.masked) - 1 // the line may end where the next begins
			break
		}
	}
	return out
}

// lowered is data with the ASCII letters in lower case, and as long as it was.
func lowered(data []byte) []byte {
	out := bytes.Clone(data)
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c - 'A' + 'a'
		}
	}
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
