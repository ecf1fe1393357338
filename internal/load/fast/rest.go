//go:build linux && (amd64 || arm64)

package fast

import (
	"runtime"
	"time"
)

// The lengths of a rest, in which events gather, so that a poll returns many of them. The kernel's stamps give the arrival
// times. Many held streams have rare events: a rest of 1 ms reduces the CPU
// time to a third, 5 ms to a quarter. Short streams end all the time: there the loop rests
// until a good part of the open streams has events.
const (
	manyOpen, manyNap         = 2_000, time.Millisecond
	veryManyOpen, veryManyNap = 10_000, 5 * time.Millisecond
	// callNap is the longest rest while calls or TLS handshakes are in flight. shortOpen is the number of open
	// short streams from which a rest pays off, and shortMost its longest length. A turn
	// should end one in shortPart of the open streams.
	callNap                         = 100 * time.Microsecond
	shortOpen, shortMost, shortPart = 8, 500 * time.Microsecond, 4
)

// rest computes how long a loop sleeps before it polls its sockets again.
type rest struct {
	others int // loops beside this one, which have about as many open streams
	short  time.Duration
}

// next returns the length of the next rest, after a turn in which ended streams ended.
func (r *rest) next(open, ended int) time.Duration {
	switch {
	case open*(1+r.others) >= veryManyOpen:
		return veryManyNap
	case open*(1+r.others) >= manyOpen:
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

// longest returns the longest rest with a number of open streams.
func (r *rest) longest(open int) time.Duration {
	switch {
	case open*(1+r.others) >= veryManyOpen:
		return veryManyNap
	case open*(1+r.others) >= manyOpen:
		return manyNap
	}
	return shortMost
}

// nap returns how long the loop sleeps at most.
func (l *loop) nap() time.Duration {
	nap := l.resting.next(l.streams.Open(), l.endings)
	l.endings = 0
	// Many kills wait, and only a few are in flight. A handshake takes longer until the loop
	// reads its bytes.
	if l.streams.Calling() > 0 || l.shakes.Open() > 0 {
		return min(nap, callNap)
	}
	return nap
}

// rest sleeps, so that several events gather, when that saves CPU time. It ends before
// anything is due.
func (l *loop) rest() {
	if l.shakes.Open() > 0 {
		// A loop that sleeps or waits keeps its processor for up to shortNap, so the goroutines
		// of the handshakes run before: with a loop on each of two processors, a handshake
		// otherwise takes 23 ms instead of 5 ms, and that counts as the gateway's time.
		runtime.Gosched()
	}
	nap := l.nap()
	if nap <= 0 {
		return
	}
	now := l.clock.now()
	if nap = min(nap-time.Duration(now-l.noticed), l.pause()); nap > 0 {
		doze(nap)
	}
}
