package transport

import (
	"sync"
	"time"

	"assay/internal/bundle"
)

// Clock gives the run's stamps: one monotonic clock and one sequence over all
// connections, so that a later stamp never has an earlier time. It is safe for
// concurrent use.
type Clock struct {
	start time.Time

	mu    sync.Mutex
	last  int64
	ahead time.Duration // of the real time
}

// NewClock starts a run's clock at zero.
func NewClock() *Clock { return &Clock{start: time.Now()} }

// Stamp takes the next number of the sequence at the present time. The first
// number is 1, so that the zero Stamp is never one that was taken.
func (c *Clock) Stamp() bundle.Stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	return bundle.Stamp{T: int64(time.Since(c.start) + c.ahead), N: c.last}
}

// Fork makes a clock that goes on from where c is, on its own.
func (c *Clock) Fork() *Clock {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Clock{start: c.start, last: c.last, ahead: c.ahead}
}

// Advance lets d pass at once.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += max(0, d)
}

// Since is how long ago a stamp was taken.
func (c *Clock) Since(s bundle.Stamp) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.start) + c.ahead - time.Duration(s.T)
}

// broadcast wakes everyone who took its channel before the last change. Its
// owner's mutex guards it.
type broadcast struct{ ch chan struct{} }

// wait returns a channel that is closed by the next fire.
func (b *broadcast) wait() <-chan struct{} {
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

// fire closes the channel that waiters hold; it costs nothing when nobody waits.
func (b *broadcast) fire() {
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
