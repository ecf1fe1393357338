package load

import "time"

// Lookout says when deadlines may be looked at. A driver that was stopped for a while
// has not read what came meanwhile, and a gateway beside it was stopped with it: all of
// them get that time back before a stream is said to be late. The zero value is ready.
type Lookout struct {
	due   time.Duration // the next look
	until time.Duration // no deadline is over before
	stops int           // that were given back without a look in between
}

// mostStops is how many stops are given back in a row: a driver that is late with every
// look is slow, and still sees which streams are over.
const mostStops = 4

// Look is called every so often. It reports whether a deadline that is over now is
// the other side's affair.
func (l *Lookout) Look(now, every time.Duration) bool {
	if late := now - l.due; l.due > 0 && late > every && l.stops < mostStops {
		l.until = now + late
		l.stops++
	}
	l.due = now + every
	if now < l.until {
		return false
	}
	l.stops = 0
	return true
}
