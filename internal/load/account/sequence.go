package account

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"sync"

	"assay/internal/load"
)

// sequence compares text with "FIRST\nFIRST+1\n…", in any split, without keeping the text.
// After a difference it continues with the number it found, so that one lost line is one
// difference.
type sequence struct {
	next  uint64 // the number on the present line
	lines uint64 // complete lines
	at    uint8  // bytes of the present line that match
	lost  bool   // the present line differs
	value uint64 // the number on a line that differs
	some  bool   // that line has a digit
	other bool   // that line has something else
}

// write compares p and returns the first difference in it, or "".
func (q *sequence) write(p []byte) (wrong string) {
	var line [24]byte
	want := append(strconv.AppendUint(line[:0], q.next, 10), '\n')
	for _, c := range p {
		if !q.lost && c == want[q.at] {
			if q.at++; c == '\n' {
				q.lines, q.at = q.lines+1, 0
				q.next++
				want = append(strconv.AppendUint(line[:0], q.next, 10), '\n')
			}
			continue
		}
		if !q.lost {
			q.lose(want)
		}
		if c != '\n' {
			q.read(c)
			continue
		}
		if wrong == "" {
			wrong = q.difference()
		}
		q.resume()
		want = append(strconv.AppendUint(line[:0], q.next, 10), '\n')
	}
	return wrong
}

// lose notes that the present line differs, and begins to read its number. want[:at] of it
// has come.
func (q *sequence) lose(want []byte) {
	q.lost, q.value, q.some, q.other = true, 0, false, false
	for _, c := range want[:q.at] {
		q.read(c)
	}
}

func (q *sequence) read(c byte) {
	if c < '0' || c > '9' || q.value > 1<<60 {
		q.other = true
		return
	}
	q.value, q.some = q.value*10+uint64(c-'0'), true
}

// isNumber reports whether the line that differs is a number.
func (q *sequence) isNumber() bool { return q.some && !q.other }

// difference describes the line that has just ended.
func (q *sequence) difference() string {
	if !q.isNumber() {
		return fmt.Sprintf("line %d: want %d, got something else", q.lines+1, q.next)
	}
	what := "changed"
	switch {
	case q.value == q.next+1:
		what = "a line is missing"
	case q.value > q.next:
		what = fmt.Sprintf("%d lines are missing", q.value-q.next)
	case q.next > 0 && q.value == q.next-1:
		what = "a line came twice"
	}
	return fmt.Sprintf("line %d: want %d, got %d: %s", q.lines+1, q.next, q.value, what)
}

// resume continues after a line that differs.
func (q *sequence) resume() {
	if q.isNumber() {
		q.next = q.value
	}
	q.next++
	q.lines++
	q.at, q.lost = 0, false
}

// ended describes what is wrong at the end of the output of a command that ended by itself.
func (q *sequence) ended(c *load.Check) (wrong string) {
	switch {
	case q.at > 0 || q.lost:
		return fmt.Sprintf("line %d: the output ends inside the line", q.lines+1)
	case c.Lines > 0 && q.next-c.First < c.Lines:
		return fmt.Sprintf("line %d: want %d, got the end of the output: %d of %d lines came", q.lines+1, q.next, q.lines, c.Lines)
	case c.Lines > 0 && q.next-c.First > c.Lines:
		return fmt.Sprintf("%d lines came, want %d", q.lines, c.Lines)
	}
	return ""
}

// sameOutput is the output of the first stream that ended by itself.
type sameOutput struct {
	mu     sync.Mutex
	known  bool
	sum    [sha256.Size]byte
	bytes  int64
	stream int64
}

func (s *sameOutput) compare(sum [sha256.Size]byte, n, stream int64) (wrong string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known {
		s.known, s.sum, s.bytes, s.stream = true, sum, n, stream
		return ""
	}
	if sum != s.sum {
		return fmt.Sprintf("the output (%d bytes, SHA-256 %.6x…) differs from that of stream %d (%d bytes, %.6x…)", n, sum, s.stream, s.bytes, s.sum)
	}
	return ""
}
