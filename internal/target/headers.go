package target

import (
	"fmt"
	"strings"

	"golang.org/x/net/http/httpguts"

	"assay/internal/bundle"
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
