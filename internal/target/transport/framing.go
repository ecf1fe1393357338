package transport

import (
	"bytes"

	"assay/internal/wire/h2"
)

// received returns bytes of a connection without secrets, also without those that the chunks of HTTP/1.1 or
// the DATA frames of HTTP/2 split: a server cuts a body where its buffer is full. Frames of another stream
// between the two parts keep such a secret from being found.
func (r redactor) received(p []byte) []byte {
	out := r.Bytes(p)
	if r.Redactor == nil {
		return out
	}
	joined, at := withoutFraming(p)
	if at == nil {
		return out
	}
	clean := r.Bytes(joined)
	if &clean[0] == &joined[0] {
		return out
	}
	if &out[0] == &p[0] {
		out = bytes.Clone(p)
	}
	for i, c := range clean {
		if c != joined[i] {
			out[at[i]] = c
		}
	}
	return out
}

// withoutFraming returns p without what looks like the framing between two parts of a body, and the place of each of
// its bytes in p; nil if there is none. A body that looks like framing is only missing from a search.
func withoutFraming(p []byte) (joined []byte, at []int32) {
	last := 0
	for i := 0; i < len(p); {
		n := 0
		switch p[i] {
		case '\r':
			n = chunkHead(p[i:])
		case 0:
			n = dataHead(p[i:])
		}
		if n == 0 {
			i++
			continue
		}
		joined, at = appendPlaces(joined, at, p, last, i)
		i += n
		last = i
	}
	if last == 0 || len(joined) == 0 {
		return nil, nil
	}
	return appendPlaces(joined, at, p, last, len(p))
}

func appendPlaces(joined []byte, at []int32, p []byte, from, to int) ([]byte, []int32) {
	for i := from; i < to; i++ {
		at = append(at, int32(i)) //nolint:gosec // a record is short
	}
	return append(joined, p[from:to]...), at
}

// The longest head of a chunk that is looked for, and its digits.
const (
	maxChunkHead   = 256
	maxChunkDigits = 16
)

// chunkHead returns the length of the end of a chunk and the head of the next at the beginning of p, 0 if
// they are not there (RFC 9112, section 7.1).
func chunkHead(p []byte) int {
	if len(p) < 5 || p[1] != '\n' {
		return 0
	}
	digits := 2
	for digits < min(len(p), maxChunkDigits+2) && hexDigit(p[digits]) {
		digits++
	}
	end := bytes.Index(p[digits:min(len(p), maxChunkHead)], []byte("\r\n"))
	if digits == 2 || end < 0 || end > 0 && p[digits] != ';' && p[digits] != ' ' && p[digits] != '\t' {
		return 0
	}
	return digits + end + 2
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// dataHead returns the length of the head of a DATA frame without padding at the beginning of p, 0 if there
// is none (RFC 9113, section 6.1).
func dataHead(p []byte) int {
	if len(p) < h2.HeaderLen || p[0] != 0 || p[3] != 0 || p[4]&^1 != 0 || p[5]&0x80 != 0 {
		return 0
	}
	return h2.HeaderLen
}
