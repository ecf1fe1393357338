package transport

import (
	"fmt"

	"assay/internal/record/bundle"
)

// RequestHead renders the head of an HTTP/1.1 request: request line, headers in
// the given order and spelling, empty line. Nothing is added or checked.
func RequestHead(method, path string, headers []bundle.Header) []byte {
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\n", method, path)
	for _, h := range headers {
		b = fmt.Appendf(b, "%s: %s\r\n", h.Name, h.Value)
	}
	return append(b, "\r\n"...)
}
