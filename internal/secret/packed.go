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

// The least number of quads of a text in a row, and the largest number of others between two texts.
const (
	leastQuads = 3
	mostGap    = 2
)

// fits has the characters that can be the first, second or third of four that decode to ASCII, as bits.
var fits = func() (set [256]uint8) { //nolint:gochecknoglobals // read only
	for v, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") {
		if v > 63 {
			v -= 2 // - and _ stand for + and /
		}
		for bit, high := range []int{32, 8, 2} {
			if v&high == 0 {
				set[c] |= 1 << bit
			}
		}
	}
	return set
}()

// texts calls visit with each stretch of a base64 text that decodes to ASCII for the most part. All escapes are
// ASCII. A wrong alignment makes a stretch of three bytes ASCII with a probability of one in eight.
func texts(run []byte, visit func(a, b int)) {
	from, good, best, bad := 0, 0, 0, 0
	for i := 0; ; i += 4 {
		end := i+4 > len(run)
		if !end && fits[run[i]]&(fits[run[i+1]]>>1)&(fits[run[i+2]]>>2)&1 != 0 {
			good, bad = good+1, 0
			best = max(best, good)
			continue
		}
		good, bad = 0, bad+1
		if !end && bad <= mostGap {
			continue
		}
		if best >= leastQuads {
			visit(max(0, from-4), min(len(run), i+4))
		}
		if end {
			return
		}
		from, best = i+4, 0
	}
}

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
// text with secrets. What stands before the text, as in a URL, may look like base64 too.
func (r *Redactor) decode(p []byte, paint func(i int, fill byte)) {
	runs(p, func(a, b int) {
		part := func(from, to int) { r.unpacked(p[from:to], func(i int, fill byte) { paint(from+i, fill) }) }
		first := a
		if !mixed(p[a:b]) {
			part(a, b)
			first++
		}
		for skip := first; skip < a+4; skip++ {
			texts(p[skip:b], func(from, to int) { part(skip+from, skip+to) })
		}
	})
}

// mixed reports whether a text has characters of both base64 alphabets.
func mixed(run []byte) bool {
	return (bytes.IndexByte(run, '-') >= 0 || bytes.IndexByte(run, '_') >= 0) &&
		(bytes.IndexByte(run, '/') >= 0 || bytes.IndexByte(run, '+') >= 0)
}

// unpacked decodes a base64 text and calls paint with each character that must change so that
// it decodes to a text without secrets. Secrets that are verbatim in it are found without
// decoding. The text may mix the alphabets.
func (r *Redactor) unpacked(run []byte, paint func(i int, fill byte)) {
	if len(run)%4 == 1 {
		run = run[:len(run)-1] // one character is no byte
	}
	encoding := base64.RawStdEncoding
	if bytes.IndexByte(run, '-') >= 0 || bytes.IndexByte(run, '_') >= 0 {
		encoding = base64.RawURLEncoding
		run = toURL(run)
	}
	plain := make([]byte, encoding.DecodedLen(len(run)))
	if _, err := encoding.Decode(plain, run); err != nil {
		return // unreachable: every character is in the alphabet
	}
	clean := r.bytes(plain, false)
	if &clean[0] == &plain[0] {
		return
	}
	was := encoding.AppendEncode(nil, plain) // not run: its last character may have more bits
	for i, c := range encoding.AppendEncode(nil, clean) {
		if c != was[i] {
			paint(i, c)
		}
	}
}

// toURL returns a base64 text in the alphabet for URLs.
func toURL(run []byte) []byte {
	if !mixed(run) {
		return run
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(run, []byte("+"), []byte("-")), []byte("/"), []byte("_"))
}
