package secret

import "bytes"

// leastHead is the length of the shortest beginning of a secret that Cut overwrites.
const leastHead = 4

// Cut is Text for the beginning of a longer text. It also overwrites what the text ends with if a form of a secret begins
// with that: the rest of the secret was cut off. Text overwrites only a beginning that is half of the secret or more.
func (r *Redactor) Cut(s string) string {
	s = r.Text(s)
	if n := r.head([]byte(s)); n > 0 {
		return s[:len(s)-n] + string(stars(n))
	}
	return s
}

// head returns the length of the longest end of p with which a form of a secret begins, 0 for none.
func (r *Redactor) head(p []byte) (longest int) {
	if r == nil {
		return 0
	}
	for _, n := range r.needles {
		for k := min(len(n.text)-1, len(p)); k >= max(leastHead, longest+1); k-- {
			if bytes.HasSuffix(p, n.text[:k]) {
				longest = k
				break
			}
		}
	}
	return max(longest, r.more.Load().head(p))
}
