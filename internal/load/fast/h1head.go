//go:build linux && (amd64 || arm64)

package fast

import (
	"bytes"
	"slices"
)

// knownHead is the head of the last good response of a class: 200, chunked, kept open,
// with the right type, and without fields that account has to read; or 101 to an upgrade. Its
// holes differ from response to response.
type knownHead struct {
	bytes  []byte
	holes  []hole // in order
	accept int    // the offset of the value of Sec-WebSocket-Accept, 0 when there is none
}

// hole is the value of a field of fixed length.
type hole struct{ at, size int }

const (
	dateSize   = len("Sun, 06 Nov 1994 08:49:37 GMT")
	acceptSize = len("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
)

// match returns the length of the known head if p begins with it, apart from the holes;
// else 0.
func (k *knownHead) match(p []byte) int {
	n := len(k.bytes)
	if n == 0 || len(p) < n {
		return 0
	}
	if bytes.Equal(p[:n], k.bytes) {
		return n
	}
	at := 0
	for _, h := range k.holes {
		if !bytes.Equal(p[at:h.at], k.bytes[at:h.at]) {
			return 0
		}
		at = h.at + h.size
		for _, b := range p[h.at:at] {
			if b < ' ' || b > '~' {
				return 0
			}
		}
	}
	if !bytes.Equal(p[at:n], k.bytes[at:]) {
		return 0
	}
	copy(k.bytes, p)
	return n
}

// learn makes p the known head.
func (k *knownHead) learn(p []byte) {
	k.bytes = append(k.bytes[:0], p...)
	k.holes, k.accept = k.holes[:0], 0
	k.find("\r\nDate: ", dateSize)
	if k.find("\r\nSec-WebSocket-Accept: ", acceptSize) {
		k.accept = k.holes[len(k.holes)-1].at
	}
	slices.SortFunc(k.holes, func(a, b hole) int { return a.at - b.at })
}

// find adds the value of a field to the holes.
func (k *knownHead) find(field string, size int) bool {
	at := bytes.Index(k.bytes, []byte(field)) + len(field)
	if at < len(field) || len(k.bytes) <= at+size || k.bytes[at+size] != '\r' {
		return false
	}
	k.holes = append(k.holes, hole{at, size})
	return true
}
