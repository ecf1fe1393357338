package account

import "time"

// lookout decides when deadlines count. A driver that was stopped for a while has not
// read the bytes that came meanwhile, and a gateway on the same machine was stopped with
// it: every stream gets that time back before it counts as late. The zero value is ready.
type lookout struct {
	due   time.Duration // the next look
	until time.Duration // no deadline counts before
	stops int           // given back without a look in between
}

// mostStops bounds the stops that are given back in a row: a driver that is late with
// every look is slow, and still has to find overdue streams.
const mostStops = 4

// look is called at every interval. It reports whether a deadline that is over now counts
// against the gateway.
func (l *lookout) look(now, every time.Duration) bool {
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
