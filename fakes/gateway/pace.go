package gateway

import (
	"sync/atomic"
	"time"
)

// The measure of an overload. Below crowd processes nothing is refused for it: a slow machine answers a few late, but it answers.
const (
	crowd   = 16 << 10
	tooLate = time.Second
	// overEvents is how many deliveries the mean delay goes back: at the 30,000 a second that two cores can do, for a tenth of a second. A
	// client that does not read has few of them, and so little weight.
	overEvents = 4 << 10
	// outdated is how long a delay counts after the last delivery.
	outdated = time.Second
)

// pace measures how late events leave the gateway: from the write of a process until the frame is on its connection. It is safe for
// concurrent use; a sample may be lost. The zero value is ready.
type pace struct {
	mean atomic.Int64 // ns
	last atomic.Int64 // Unix time of the last delivery, ns
}

// delivered records an event that was ready at a time and has been sent now.
func (p *pace) delivered(ready, now time.Time) {
	mean := p.mean.Load()
	p.mean.Store(mean + (int64(now.Sub(ready))-mean)/overEvents)
	p.last.Store(now.UnixNano())
}

// lateness returns the mean delay of the last deliveries.
func (p *pace) lateness(now time.Time) time.Duration {
	if now.UnixNano()-p.last.Load() > int64(outdated) {
		return 0
	}
	return time.Duration(p.mean.Load())
}
