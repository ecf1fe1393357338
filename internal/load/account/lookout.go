package account

import "time"

// lookout decides when deadlines count. A driver that was stopped for a while has not
// read the bytes that arrived meanwhile, and a gateway on the same machine was stopped
// too, so every stream gets that time back before it counts as late. The zero value is ready.
type lookout struct {
	due   time.Duration // when the next look is due
	until time.Duration // no deadline counts before this time
	stops int           // stops given back since deadlines last counted
}

// mostStops bounds the stops given back in a row: a slow driver is late with every look,
// and must still find overdue streams.
const mostStops = 4

// look is called at every interval. It reports whether a deadline that has passed counts
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
