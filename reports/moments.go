package reports

import (
	"cmp"
	"slices"

	"assay/internal/record/bundle"
)

// direction is the direction of a moment on a connection.
type direction string

const (
	sent     direction = "→"
	received direction = "←"
	noted    direction = " "
	wrong    direction = "✗"
)

// moment is one event on a connection.
type moment struct {
	at    bundle.Stamp
	way   direction
	head  painted
	lines []painted // below the head
}

// timeline collects the moments of one connection.
type timeline struct {
	moments []moment
}

func (l *timeline) add(m moment) { l.moments = append(l.moments, m) }

// sorted returns the moments by their sequence number; moments without one are placed
// by their time.
func (l *timeline) sorted() []moment {
	slices.SortStableFunc(l.moments, func(a, b moment) int {
		if a.at.N == 0 || b.at.N == 0 {
			return cmp.Compare(a.at.T, b.at.T)
		}
		return cmp.Compare(a.at.N, b.at.N)
	})
	return l.moments
}
