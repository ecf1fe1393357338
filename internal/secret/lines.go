package secret

import (
	"bytes"
	"sort"
)

// leastLine is the length of the shortest line of base64 or hexadecimal digits behind which a line break is ignored.
const leastLine = 32

// joined is a text without line breaks.
type joined struct {
	text  []byte
	lines []line
}

// line is where a line begins in the joined text, and in the text with the breaks.
type line struct{ at, from int }

// add appends a line, which stands at an offset.
func (j *joined) add(p []byte, from int) {
	j.lines = append(j.lines, line{len(j.text), from})
	j.text = append(j.text, p...)
}

// place returns the place of a byte in the text with the breaks.
func (j *joined) place(i int) int {
	l := j.lines[sort.Search(len(j.lines), func(n int) bool { return j.lines[n].at > i })-1]
	return l.from + i - l.at
}

// eachJoined calls visit with each stretch of p that may be base64 or hexadecimal digits in lines, as base64 (76
// columns), PEM (64) and xxd -p (60) print them. Only the last line may be short. The joined text is valid until
// the next call.
func eachJoined(p []byte, visit func(j *joined)) {
	var j *joined
	for at := 0; at < len(p); {
		end := bytes.IndexByte(p[at:], '\n')
		if end < 0 {
			return
		}
		end += at
		if end > at && p[end-1] == '\r' {
			end--
		}
		at = end + lineBreak(p[end:])
		if !endsLine(p[:end]) || at == len(p) || !inAlphabet[p[at]] {
			continue
		}
		from := end - leastLine
		for from > 0 && inAlphabet[p[from-1]] {
			from--
		}
		if j == nil {
			j = new(joined)
		}
		j.text, j.lines = j.text[:0], j.lines[:0]
		for {
			j.add(p[from:end], from)
			if len(j.lines) > 1 && end-from < leastLine {
				break
			}
			n := lineBreak(p[end:])
			if n == 0 {
				break
			}
			from = end + n
			for end = from; end < len(p) && inAlphabet[p[end]]; end++ {
			}
			if end == from {
				break
			}
		}
		visit(j)
		at = end
	}
}

// endsLine reports whether p ends in a line of base64 or hexadecimal digits.
func endsLine(p []byte) bool {
	if len(p) < leastLine {
		return false
	}
	for i := len(p) - 1; i >= len(p)-leastLine; i-- {
		if !inAlphabet[p[i]] {
			return false
		}
	}
	return true
}

// lineBreak returns the length of the line break at the beginning of p, 0 for none.
func lineBreak(p []byte) int {
	switch {
	case bytes.HasPrefix(p, []byte("\n")):
		return 1
	case bytes.HasPrefix(p, []byte("\r\n")):
		return 2
	}
	return 0
}
