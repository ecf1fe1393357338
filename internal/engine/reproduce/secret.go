package reproduce

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/internal/base/secret"
	"assay/internal/record/bundle"
)

// TokenVariable is the environment variable of the access token, in reproducers and for
// the program itself.
const TokenVariable = "ASSAY_TOKEN"

// SecretPrefix is the prefix of the variables of other secret headers. No flag has such a variable.
const SecretPrefix = "ASSAY_SECRET_"

// secretHeader is a request header whose value is a secret: a text names an environment
// variable instead.
type secretHeader struct {
	name, value, variable string
	masked                string // the value in records
}

// secretHeaders returns the target's headers with secret values, each with its own
// variable: ASSAY_TOKEN for x-access-token, and numbered names for duplicates
// (ASSAY_SECRET_X_KEY, ASSAY_SECRET_X_KEY_2).
func secretHeaders(headers []bundle.Header, redact *secret.Redactor) []secretHeader {
	var out []secretHeader
	taken := map[string]bool{}
	for _, h := range headers {
		masked := redact.Value(h.Value)
		if masked == h.Value {
			continue
		}
		base := variableOf(h.Name)
		variable := base
		for n := 2; taken[variable]; n++ {
			variable = fmt.Sprintf("%s_%d", base, n)
		}
		taken[variable] = true
		out = append(out, secretHeader{name: h.Name, value: h.Value, variable: variable, masked: masked})
	}
	return out
}

// isToken reports whether a header carries the access token.
func isToken(header string) bool { return strings.EqualFold(header, "x-access-token") }

// required returns the expansion of a variable that fails in a shell when it is unset or
// empty: a request without its secret shows nothing.
func required(variable string) string {
	what := "the value of the secret header"
	if variable == TokenVariable {
		what = "the access token"
	}
	return "${" + variable + ":?set it to " + what + "}"
}

// demand returns a command that fails unless the variables are set; "" for none.
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

// variableOf returns the environment variable for a header.
func variableOf(header string) string {
	if isToken(header) {
		return TokenVariable
	}
	return SecretPrefix + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, header)
}

// turns assigns variables to a request's fields in order: secrets with the same name and
// length look the same in a record, so they take turns.
type turns struct {
	secrets []secretHeader
	given   map[string]int
}

func newTurns(secrets []secretHeader) *turns {
	return &turns{secrets: secrets, given: map[string]int{}}
}

// variable returns the variable of the next matching field; false for a field without a
// secret.
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

// errSecret reports a secret that no variable can replace.
var errSecret = errors.New("its bytes contain a secret that a script cannot replace by a variable")

// hole is a place in a byte string for the value of a variable.
type hole struct {
	from, to int
	variable string
}

// holes finds the secrets in bytes sent on HTTP/1.1: the values of header lines. On
// HTTP/2 they are part of a compressed block. The holes are in order and do not overlap.
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
			at += lead + len(s.masked) - 1 // the end of this line may begin the next match
			break
		}
	}
	return out
}

// lowered returns data with ASCII letters in lower case, at the same length.
func lowered(data []byte) []byte {
	out := bytes.Clone(data)
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c - 'A' + 'a'
		}
	}
	return out
}

// leaks reports whether a masked secret occurs outside the holes.
func leaks(data []byte, hs []hole, secrets []secretHeader) bool {
	rest := bytes.Clone(data)
	for _, h := range hs {
		for i := h.from; i < h.to; i++ {
			rest[i] = ' '
		}
	}
	return slices.ContainsFunc(secrets, func(s secretHeader) bool { return bytes.Contains(rest, []byte(s.masked)) })
}
