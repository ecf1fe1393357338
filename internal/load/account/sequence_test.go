package account

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"assay/internal/load"
)

func numbered(first, last int) string {
	var b strings.Builder
	for i := first; i <= last; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

// feed writes text in pieces of at most n bytes and returns every difference.
func feed(q *sequence, text string, n int) (wrong []string) {
	for p := []byte(text); len(p) > 0; {
		m := min(n, len(p))
		if w := q.write(p[:m]); w != "" {
			wrong = append(wrong, w)
		}
		p = p[m:]
	}
	return wrong
}

func TestASequenceIsComparedLineByLine(t *testing.T) {
	tests := map[string]struct {
		first uint64
		lines uint64
		text  string
		wrong []string // in pieces of one byte
		ended string
	}{
		"all lines":                       {0, 0, numbered(0, 120), nil, ""},
		"all of a known number":           {1, 20, numbered(1, 20), nil, ""},
		"nothing":                         {0, 0, "", nil, ""},
		"nothing of a known number":       {1, 20, "", nil, "line 1: want 1, got the end of the output: 0 of 20 lines came"},
		"a line is missing":               {0, 0, "0\n1\n3\n4\n", []string{"line 3: want 2, got 3: a line is missing"}, ""},
		"the first line is missing":       {0, 0, "1\n2\n", []string{"line 1: want 0, got 1: a line is missing"}, ""},
		"the last line is missing":        {1, 3, "1\n2\n", nil, "line 3: want 3, got the end of the output: 2 of 3 lines came"},
		"several lines are missing":       {0, 0, "0\n8\n9\n10\n", []string{"line 2: want 1, got 8: 7 lines are missing"}, ""},
		"a line came twice":               {0, 0, "0\n1\n1\n2\n", []string{"line 3: want 2, got 1: a line came twice"}, ""},
		"a line of another stream":        {0, 0, "0\n1\n17\n3\n", []string{"line 3: want 2, got 17: 15 lines are missing", "line 4: want 18, got 3: changed"}, ""},
		"a changed byte":                  {0, 0, "0\n1\nx\n3\n", []string{"line 3: want 2, got something else"}, ""},
		"an empty line":                   {0, 0, "0\n\n2\n", []string{"line 2: want 1, got something else"}, ""},
		"a carriage return":               {0, 0, "0\r\n1\n", []string{"line 1: want 0, got something else"}, ""},
		"a common prefix":                 {9, 0, "9\n100\n", []string{"line 2: want 10, got 100: 90 lines are missing"}, ""},
		"a prefix only":                   {10, 0, "1\n11\n", []string{"line 1: want 10, got 1: changed", "line 2: want 2, got 11: 9 lines are missing"}, ""},
		"a number beyond all":             {0, 0, strings.Repeat("9", 40) + "\n1\n", []string{"line 1: want 0, got something else"}, ""},
		"an unfinished line":              {0, 0, "0\n1\n2", nil, "line 3: the output ends inside the line"},
		"an unfinished line that differs": {0, 0, "0\n7", nil, "line 2: the output ends inside the line"},
		"too many lines":                  {1, 2, numbered(1, 3), nil, "3 lines came, want 2"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 7, 1 << 20} {
				q := sequence{next: tt.first}
				wrong := feed(&q, tt.text, n)
				if n == 1 && fmt.Sprint(wrong) != fmt.Sprint(tt.wrong) {
					t.Errorf("got %q, want %q", wrong, tt.wrong)
				}
				if (len(wrong) > 0) != (len(tt.wrong) > 0) || len(wrong) > 0 && wrong[0] != tt.wrong[0] {
					t.Errorf("in pieces of %d: got %q first, want %q", n, wrong, tt.wrong)
				}
				if got := q.ended(&load.Check{First: tt.first, Lines: tt.lines}); got != tt.ended {
					t.Errorf("in pieces of %d, at the end: %q, want %q", n, got, tt.ended)
				}
			}
		})
	}
}

// FuzzSequence: only the numbered lines are accepted, in any split.
func FuzzSequence(f *testing.F) {
	f.Add([]byte("0\n1\n2\n"), uint8(2))
	f.Add([]byte("0\n1\n1\n"), uint8(1))
	f.Add([]byte("0\n1\n100\n"), uint8(9))
	f.Fuzz(func(t *testing.T, text []byte, n uint8) {
		lines := strings.Count(string(text), "\n")
		right := string(text) == numbered(0, lines-1)
		q := sequence{}
		wrong := feed(&q, string(text), int(n)+1)
		if end := q.ended(&load.Check{}); end != "" {
			wrong = append(wrong, end)
		}
		if right != (len(wrong) == 0) {
			t.Fatalf("%q is right: %v, but the check says %q", text, right, wrong)
		}
	})
}

func TestSameOutputIsThatOfTheFirstStream(t *testing.T) {
	var s sameOutput
	a, b := sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b"))
	if w := s.compare(a, 1, 7); w != "" {
		t.Errorf("the first: %s", w)
	}
	if w := s.compare(a, 1, 8); w != "" {
		t.Errorf("an equal one: %s", w)
	}
	if w := s.compare(b, 1, 9); !strings.Contains(w, "stream 7") {
		t.Errorf("another: %q, want a complaint that names stream 7", w)
	}
}
