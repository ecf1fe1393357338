//go:build linux && (amd64 || arm64)

package fast

import "time"

// The steps of resting. Many held streams have an event each now and then: 1 ms makes
// a third of the CPU time of it, 5 ms a quarter. Short streams end all the time: there the loop
// rests until a good part of those that are open have something to say.
const (
	manyOpen, manyNap         = 2_000, time.Millisecond
	veryManyOpen, veryManyNap = 10_000, 5 * time.Millisecond
	// callNap is the longest rest while calls are under way.
	// shortOpen is how many streams must be open for a rest to pay off between short ones;
	// shortMost is its longest, and shortPart the part of them that should end in one turn.
	callNap                         = 100 * time.Microsecond
	shortOpen, shortMost, shortPart = 8, 500 * time.Microsecond, 4
)

// rest is how long a loop sleeps before it looks at its sockets again.
type rest struct {
	fixed time.Duration // set by the user; 0 is left to next
	short time.Duration
}

// next is the length of the next rest, after a turn in which so many streams ended.
func (r *rest) next(open, ended int) time.Duration {
	switch {
	case r.fixed != 0:
		return r.fixed
	case open >= veryManyOpen:
		return veryManyNap
	case open >= manyOpen:
		return manyNap
	case open < shortOpen || ended == 0:
		return 0
	case ended*shortPart < open:
		r.short = min(r.short*5/4+5*time.Microsecond, shortMost)
	default:
		r.short = r.short * 3 / 4
	}
	return r.short
}

// longest is how long a rest with so many open streams may be.
func (r *rest) longest(open int) time.Duration {
	switch {
	case r.fixed != 0:
		return max(r.fixed, 0)
	case open >= veryManyOpen:
		return veryManyNap
	case open >= manyOpen:
		return manyNap
	}
	return shortMost
}

// rest lets events gather where that saves time. It never lasts beyond what is due.
func (l *loop) rest() {
	nap := l.resting.next(l.streams.Open(), l.endings)
	l.endings = 0
	if l.streams.Calling() > 0 {
		nap = min(nap, callNap) // kills are few at a time, and many
	}
	if nap <= 0 {
		return
	}
	now := l.clock.now()
	if nap = min(nap-time.Duration(now-l.noticed), l.pause()); nap > 0 {
		doze(nap)
	}
}
