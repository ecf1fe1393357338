package secret

import (
	"bytes"
	"encoding/base64"
)

// leastRun is the length of the shortest base64 text that is decoded.
const leastRun = 16

// inAlphabet has the characters of both base64 alphabets.
var inAlphabet = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") {
		set[c] = true
	}
	return set
}()

// aligned reports whether a base64 text that begins at a place probably begins with a whole
// byte: what follows a line break may be the rest of a chunk.
func aligned(p []byte, a int) bool { return a > 0 && p[a-1] != '\n' }

// runs calls visit with each stretch of p that may be base64. It looks at the end of a stretch first, so that it
// does not read most of a text with short words.
func runs(p []byte, visit func(a, b int)) {
	for a := 0; a+leastRun <= len(p); {
		b := a + leastRun
		other := b - 1
		for other >= a && inAlphabet[p[other]] {
			other--
		}
		if other >= a {
			a = other + 1
			continue
		}
		for b < len(p) && inAlphabet[p[b]] {
			b++
		}
		visit(a, b)
		a = b + 1
	}
}

// decode calls paint with each character that must change so that no base64 text in p decodes to a
// text with secrets.
func (r *Redactor) decode(p []byte, paint func(i int, fill byte)) {
	runs(p, func(a, b int) {
		for skip := range 4 {
			r.unpacked(p[a+skip:b], func(i int, fill byte) { paint(a+skip+i, fill) })
			if aligned(p, a) {
				break
			}
		}
	})
}

// unpacked decodes a base64 text and calls paint with each character that must change so that
// it decodes to a text without secrets. Secrets that are verbatim in it are found without
// decoding.
func (r *Redactor) unpacked(run []byte, paint func(i int, fill byte)) {
	if len(run)%4 == 1 {
		run = run[:len(run)-1] // one character is no byte
	}
	urls := bytes.IndexByte(run, '-') >= 0 || bytes.IndexByte(run, '_') >= 0
	encoding := base64.RawStdEncoding
	if urls {
		encoding = base64.RawURLEncoding
	}
	plain := make([]byte, encoding.DecodedLen(len(run)))
	if n, err := encoding.Decode(plain, run); err != nil || n != len(plain) {
		return // it mixes the alphabets
	}
	clean := r.bytes(plain, false)
	if &clean[0] == &plain[0] {
		return
	}
	for i, c := range encoding.AppendEncode(nil, clean) {
		if c != run[i] {
			paint(i, c)
		}
	}
}
