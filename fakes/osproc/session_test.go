//go:build unix

package osproc

import "testing"

func TestStatIsReadWhateverTheNameHolds(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text    string
		pid     int
		session int
		alive   bool
	}{
		{"12 (sleep) S 1 12 11 0 -1", 12, 11, true},
		{"12 (a) Z 9 (b) ) R 1 12 10 0", 12, 10, true},
		{"12 (sleep) Z 1 12 11 0 -1", 12, 11, false},
		{"12 (sleep) X 1 12 11 0 -1", 12, 11, false},
		{"12 (sleep) S 1", 0, 0, false},
		{"", 0, 0, false},
		{"x (y) S 1 2 3", 0, 3, false},
	} {
		pid, session, alive := parseStat([]byte(row.text))
		if pid != row.pid || session != row.session || alive != row.alive {
			t.Errorf("%q: %d, %d, %v", row.text, pid, session, alive)
		}
	}
}
