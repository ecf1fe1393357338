//go:build linux && (amd64 || arm64)

package fast

import "bytes"

// knownHead is the head of the last good response of a class: 200, chunked, kept open,
// with the right type, and without fields that account has to read.
type knownHead struct {
	bytes []byte
	date  int // the offset of the value of Date, 0 when there is none
}

const dateSize = len("Sun, 06 Nov 1994 08:49:37 GMT")

// match returns the length of the known head if p begins with it, apart from the date;
// else 0.
func (k *knownHead) match(p []byte) int {
	n := len(k.bytes)
	if n == 0 || len(p) < n {
		return 0
	}
	if bytes.Equal(p[:n], k.bytes) {
		return n
	}
	after := k.date + dateSize
	if k.date == 0 || !bytes.Equal(p[:k.date], k.bytes[:k.date]) || !bytes.Equal(p[after:n], k.bytes[after:]) {
		return 0
	}
	for _, b := range p[k.date:after] {
		if b < ' ' || b > '~' {
			return 0
		}
	}
	copy(k.bytes, p)
	return n
}

// learn makes p the known head.
func (k *knownHead) learn(p []byte) {
	const field = "\r\nDate: "
	k.bytes = append(k.bytes[:0], p...)
	k.date = 0
	if at := bytes.Index(p, []byte(field)); at > 0 && len(p) > at+len(field)+dateSize {
		if k.date = at + len(field); p[k.date+dateSize] != '\r' {
			k.date = 0
		}
	}
}
