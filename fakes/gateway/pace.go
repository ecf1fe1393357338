package gateway

import (
	"sync/atomic"
	"time"
)

// The measure of an overload. Below crowd processes nothing is refused for it: a slow machine answers a few late, but it answers.
const (
	crowd   = 16 << 10
	tooLate = time.Second
	// paceWindow is how far the mean delay goes back. A delay counts for the time since the one before, so that one reader that is far
	// behind has little weight beside many that are not, and a long delay is forgotten as soon when little is delivered afterwards.
	paceWindow = time.Second
)

// pace measures how late events leave the gateway: from the write of a process until the frame is on its connection. It is safe for
// concurrent use; a sample may be lost. The zero value is ready.
type pace struct {
	mean atomic.Int64 // ns
	last atomic.Int64 // Unix time of the last delivery, ns
}

// delivered records that events that were ready at a time have been sent now. A delay counts for at most twice tooLate.
func (p *pace) delivered(ready, now time.Time) {
	delay := int64(min(now.Sub(ready), 2*tooLate))
	passed := now.UnixNano() - p.last.Swap(now.UnixNano())
	weight := float64(max(0, min(passed, int64(paceWindow)))) / float64(paceWindow)
	mean := p.mean.Load()
	p.mean.Store(mean + int64(weight*float64(delay-mean)))
}

// lateness returns the mean delay of the last deliveries.
func (p *pace) lateness(now time.Time) time.Duration {
	if now.UnixNano()-p.last.Load() > int64(paceWindow) {
		return 0
	}
	return time.Duration(p.mean.Load())
}
