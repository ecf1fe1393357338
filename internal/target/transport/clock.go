package transport

import (
	"sync"
	"time"

	"assay/internal/record/bundle"
)

// Clock issues the stamps of a run: one monotonic clock and one sequence over all
// connections, so that a later stamp never has an earlier time. It is safe for
// concurrent use.
type Clock struct {
	start time.Time

	mu    sync.Mutex
	last  int64
	ahead time.Duration // of real time, see Advance
}

// NewClock starts a run's clock at zero.
func NewClock() *Clock { return &Clock{start: time.Now()} }

// Stamp takes the next number of the sequence at the current time. The first
// number is 1: the zero Stamp is never issued.
func (c *Clock) Stamp() bundle.Stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	return bundle.Stamp{T: int64(time.Since(c.start) + c.ahead), N: c.last}
}

// Fork makes an independent clock that continues from the current stamp of c.
func (c *Clock) Fork() *Clock {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Clock{start: c.start, last: c.last, ahead: c.ahead}
}

// Advance moves the clock forward by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += max(0, d)
}

// Since returns the time since a stamp was taken.
func (c *Clock) Since(s bundle.Stamp) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.start) + c.ahead - time.Duration(s.T)
}

// broadcast wakes every goroutine that waits for a change. Its owner's mutex guards it.
type broadcast struct{ ch chan struct{} }

// wait returns a channel that is closed by the next fire.
func (b *broadcast) wait() <-chan struct{} {
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

// fire closes the channel of the waiting goroutines; without any it costs nothing.
func (b *broadcast) fire() {
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
