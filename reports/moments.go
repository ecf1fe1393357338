package reports

import (
	"cmp"
	"slices"

	"assay/internal/bundle"
)

// direction is which way something went on a connection.
type direction string

const (
	sent     direction = "→"
	received direction = "←"
	noted    direction = " "
	wrong    direction = "✗"
)

// moment is one thing that happened on a connection.
type moment struct {
	at    bundle.Stamp
	way   direction
	head  painted
	lines []painted // below the head
}

// timeline is what happened on one connection, to be put in the order of time.
type timeline struct {
	moments []moment
}

func (l *timeline) add(m moment) { l.moments = append(l.moments, m) }

// sorted are the moments by their number in the run; what has none comes where
// its time says.
func (l *timeline) sorted() []moment {
	slices.SortStableFunc(l.moments, func(a, b moment) int {
		if a.at.N == 0 || b.at.N == 0 {
			return cmp.Compare(a.at.T, b.at.T)
		}
		return cmp.Compare(a.at.N, b.at.N)
	})
	return l.moments
}
