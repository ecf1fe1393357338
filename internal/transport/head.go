package transport

import "assay/internal/bundle"

// RequestHead renders the head of an HTTP/1.1 request: request line, headers in
// the given order and spelling, empty line. Nothing is added or checked.
func RequestHead(method, path string, headers []bundle.Header) []byte {
	n := len(method) + len(path) + 16
	for _, h := range headers {
		n += len(h.Name) + len(h.Value) + 4
	}
	b := make([]byte, 0, n)
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, path...)
	b = append(b, " HTTP/1.1\r\n"...)
	for _, h := range headers {
		b = append(b, h.Name...)
		b = append(b, ": "...)
		b = append(b, h.Value...)
		b = append(b, "\r\n"...)
	}
	return append(b, "\r\n"...)
}
