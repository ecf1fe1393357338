package attach

import "bytes"

const (
	// remembered is how much of the output is kept to find it again in a replay: more than the 256 KiB
	// that the reference gateway replays.
	remembered = 1 << 20
	// convincing is the least overlap that is no coincidence.
	convincing = 16
)

// seam joins the output of one stream before a cut and after it. A gateway replays the last output of a
// session to a client that comes back; a file or a pipe must not get it twice. The zero value is a stream
// that begins.
type seam struct {
	shown   []byte // the last of it
	joining bool
	replay  []byte // what came since the cut, as long as all of it may have been shown
}

// again says that a new connection begins, with a replay.
func (s *seam) again() { s.joining, s.replay = len(s.shown) > 0, nil }

// next returns what of the output is new. gap says that it does not continue what was shown.
func (s *seam) next(p []byte) (fresh []byte, gap bool) {
	if !s.joining {
		s.remember(p)
		return p, false
	}
	s.replay = append(s.replay, p...)
	if at := bytes.Index(s.shown, s.replay); at >= 0 && at+len(s.replay) < len(s.shown) {
		return nil, false // it may go on like that
	}
	n := overlap(s.shown, s.replay)
	if n < convincing && n < len(s.shown) {
		n, gap = 0, true
	}
	fresh = s.replay[n:]
	s.joining, s.replay = false, nil
	s.remember(fresh)
	return fresh, gap
}

// remember keeps the last of what was shown.
func (s *seam) remember(p []byte) {
	s.shown = append(s.shown, p...)
	if len(s.shown) > 2*remembered {
		s.shown = append([]byte(nil), s.shown[len(s.shown)-remembered:]...)
	}
}

// overlap returns the length of the longest end of a that b begins with (Knuth, Morris and Pratt: the state
// after a of the automaton that searches b).
func overlap(a, b []byte) int {
	b = b[:min(len(a), len(b))]
	if len(b) == 0 {
		return 0
	}
	back := make([]int, len(b)) // the longest end of b[:i+1] that b begins with
	for i, n := 1, 0; i < len(b); i++ {
		for n > 0 && b[i] != b[n] {
			n = back[n-1]
		}
		if b[i] == b[n] {
			n++
		}
		back[i] = n
	}
	n := 0
	for _, c := range a[len(a)-len(b):] {
		for n > 0 && (n == len(b) || c != b[n]) {
			n = back[n-1]
		}
		if c == b[n] {
			n++
		}
	}
	return n
}
