package engine

import (
	"context"
	"time"
)

// lagEvery is how often the sampler looks. It wakes a hundred times a second,
// which costs less than a thousandth of a core.
const lagEvery = 10 * time.Millisecond

// sampleLag measures how late this program's own timers are: it sleeps to an
// instant again and again, and notes with every instance that is running how much
// later it woke. A rule about time cannot be held against a target by a driver that is late itself.
//
// The first tick is set before the goroutine starts, each further one under the
// lock under which the last was noted: no delay falls between two.
func (e *Engine) sampleLag(ctx context.Context) func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tick = time.Now().Add(lagEvery)
	tick := e.tick
	return func() { e.ticks(ctx, tick) }
}

func (e *Engine) ticks(ctx context.Context, tick time.Time) {
	for sleep(ctx, time.Until(tick)) == nil {
		e.mu.Lock()
		now := time.Now()
		for s := range e.running {
			s.lag = max(s.lag, now.Sub(tick))
		}
		tick = now.Add(lagEvery)
		e.tick = tick
		e.mu.Unlock()
	}
}

// lagOf is the greatest lag while s ran, and what the sampler is overdue right
// now: an instance may end before the sampler gets its turn. The caller holds mu.
func (e *Engine) lagOf(s *slot) time.Duration {
	if e.tick.IsZero() {
		return s.lag
	}
	return max(s.lag, time.Since(e.tick))
}
