package target

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/http/httpguts"

	"assay/internal/record/bundle"
)

// ParseHeaders reads lines of "Name: value" and skips empty lines and # comments. An error
// begins with the number of its line, and quotes nothing of the line, which may be a secret.
func ParseHeaders(text []byte) ([]bundle.Header, error) {
	var hs []bundle.Header
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.Trim(line, " \t\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		switch {
		case !ok || !httpguts.ValidHeaderFieldName(name):
			return nil, fmt.Errorf("%d: want \"Name: value\"; a name has only letters, digits and !#$%%&'*+-.^_`|~", n)
		case !httpguts.ValidHeaderFieldValue(value):
			return nil, fmt.Errorf("%d: the value contains a control character", n)
		}
		hs = append(hs, bundle.Header{Name: name, Value: value})
	}
	return hs, nil
}

// ParseOpenHeader reads one "Name: value" whose value is no secret. It refuses a header that
// usually carries one, by its name or by a value such as "Bearer …"; the error quotes no value.
func ParseOpenHeader(text string) (bundle.Header, error) {
	name, value, ok := strings.Cut(text, ":")
	h := bundle.Header{Name: name, Value: strings.Trim(value, " \t")}
	scheme, _, _ := strings.Cut(strings.ToLower(h.Value), " ")
	switch {
	case !ok || !httpguts.ValidHeaderFieldName(name):
		return h, errors.New(`want "Name: value"; a name has only letters, digits and !#$%&'*+-.^_` + "`|~")
	case suggestsSecret(name) || scheme == "bearer" || scheme == "basic":
		return h, fmt.Errorf("%s can carry a secret, which other users of this machine would see: write the line into a file and use --header-file", name)
	case !httpguts.ValidHeaderFieldValue(h.Value):
		return h, fmt.Errorf("the value of %s contains a control character", name)
	}
	return h, nil
}

// checkHeaders rejects headers that would break the request head.
func checkHeaders(hs []bundle.Header) error {
	for _, h := range hs {
		if !httpguts.ValidHeaderFieldName(h.Name) {
			return fmt.Errorf("%q is not a header name", h.Name)
		}
		if !httpguts.ValidHeaderFieldValue(h.Value) {
			return fmt.Errorf("the value of header %s contains a control character", h.Name)
		}
	}
	return nil
}
