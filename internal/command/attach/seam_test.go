package attach

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestAReplayIsNotShownTwice(t *testing.T) {
	lines := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			b.WriteString("line " + strconv.Itoa(i) + "\n")
		}
		return b.String()
	}
	for name, tc := range map[string]struct {
		before, after, want string
		gap                 bool
	}{
		"all of it":                       {lines(0, 50), lines(0, 60), lines(50, 60), false},
		"the end of it":                   {lines(0, 50), lines(30, 60), lines(50, 60), false},
		"in the middle of a line":         {lines(0, 50) + "li", lines(30, 60), strings.TrimPrefix(lines(50, 60), "li"), false},
		"nothing new":                     {lines(0, 50), lines(30, 50), "", false},
		"nothing shown":                   {"", lines(0, 5), lines(0, 5), false},
		"little shown":                    {"ab", "abc", "c", false},
		"a gap":                           {lines(0, 50), lines(70, 80), lines(70, 80), true},
		"a gap with a little coincidence": {lines(0, 50) + "x", "xyz", "xyz", true},
		"the same again and again":        {strings.Repeat("y\n", 1000), strings.Repeat("y\n", 1300), strings.Repeat("y\n", 300), false},
		"more than is remembered":         {lines(0, 300_000), lines(280_000, 300_010), lines(300_000, 300_010), false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1 << 30, 4096, 7} {
				if size == 7 && len(tc.before) > 1<<20 {
					continue // slow, and no other case
				}
				var s seam
				if got, _ := s.next([]byte(tc.before)); string(got) != tc.before {
					t.Fatal("the first output is changed")
				}
				s.again()
				var got strings.Builder
				gap := false
				for p := []byte(tc.after); len(p) > 0; p = p[min(size, len(p)):] {
					fresh, g := s.next(p[:min(size, len(p))])
					got.Write(fresh)
					gap = gap || g
				}
				if got.String() != tc.want || gap != tc.gap {
					t.Errorf("in pieces of %d: %.60q, gap %v; want %.60q, %v", size, got.String(), gap, tc.want, tc.gap)
				}
			}
		})
	}
}

// A connection that is cut in the replay shows nothing of it.
func TestACutWithinAReplay(t *testing.T) {
	var s seam
	s.next([]byte("0123456789abcdefghij"))
	s.again()
	if got, _ := s.next([]byte("012345")); len(got) > 0 {
		t.Errorf("%q", got)
	}
	s.again()
	if got, gap := s.next([]byte("0123456789abcdefghijNEW")); string(got) != "NEW" || gap {
		t.Errorf("%q, gap %v", got, gap)
	}
}

func TestOverlapIsTheLongest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(n int) []byte {
		p := make([]byte, n)
		for i := range p {
			p[i] = "ab"[r.IntN(2)]
		}
		return p
	}
	for range 20_000 {
		a, b := text(r.IntN(12)), text(r.IntN(12))
		want := 0
		for n := range min(len(a), len(b)) + 1 {
			if bytes.HasSuffix(a, b[:n]) {
				want = n
			}
		}
		if got := overlap(a, b); got != want {
			t.Fatalf("%q and %q overlap by %d, want %d", a, b, got, want)
		}
	}
}
