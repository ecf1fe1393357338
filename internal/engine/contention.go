package engine

import (
	"runtime"
	"sync"
	"time"

	"assay/internal/base/machine"
	"assay/internal/record/bundle"
	"assay/internal/target"
)

const (
	// contendEvery is the interval between two looks at the machine; one costs about 50 µs.
	contendEvery = 100 * time.Millisecond
	// contendWeight is the weight of one look: after two seconds, those before weigh a third.
	contendWeight = 0.05
	// mostStretch bounds the factor of the waits: a target that says nothing must not hold up a run for long.
	mostStretch = 6
)

// contention measures how many threads share a processor of this machine. Everything here takes about so many times as
// long as usual, also a target that runs here, so the second look at what did not come has that many times its time. The
// zero value is ready.
type contention struct {
	mu          sync.Mutex
	first, last machine.Contest
	began, at   time.Time
	share       float64 // runnable threads per processor, smoothed
	most        float64 // the largest share so far
}

// look takes a reading into account.
func (c *contention) look(now machine.Contest, at time.Time, processors int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began.IsZero() {
		c.first, c.began = now, at
	}
	c.last, c.at = now, at
	c.share += contendWeight * (float64(now.Runnable)/float64(processors) - c.share)
	c.most = max(c.most, c.share)
}

// stretch returns by how much waits are stretched now: from 1 to mostStretch.
func (c *contention) stretch() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return min(max(1, c.share), mostStretch)
}

// stretched returns a wait so many times as long.
func stretched(wait time.Duration, stretch float64) time.Duration {
	return time.Duration(float64(wait) * stretch)
}

// seen returns what was measured beside a target, nil if nothing was.
func (c *contention) seen(t *target.Target) *bundle.Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	took := c.at.Sub(c.began)
	if took <= 0 {
		return nil
	}
	return &bundle.Machine{
		Ready:    c.most,
		Pressure: float64(c.last.Stalled-c.first.Stalled) / float64(took),
		Steal:    float64(c.last.Stolen-c.first.Stolen) / float64(took) / float64(runtime.NumCPU()),
		Shared:   t.IsLocal(),
	}
}

// contend looks at the machine if it is time.
func (c *contention) contend(now time.Time) {
	c.mu.Lock()
	due := now.Sub(c.at) >= contendEvery
	c.mu.Unlock()
	if !due {
		return
	}
	if seen, ok := machine.Competition(); ok {
		c.look(seen, now, runtime.NumCPU())
	}
}
