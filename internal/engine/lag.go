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
			e.noteLag(s, now)
		}
		tick = now.Add(lagEvery)
		e.tick = tick
		e.mu.Unlock()
	}
}

// noteLag notes how long the sampler is overdue, of the time that s has run. It is asked
// for as well when s ends, which may be before the sampler gets its turn. The caller holds mu.
func (e *Engine) noteLag(s *slot, now time.Time) {
	due := e.tick
	if due.IsZero() {
		return // nobody samples
	}
	if s.entered.After(due) {
		due = s.entered
	}
	s.lag = max(s.lag, now.Sub(due))
	e.lag = max(e.lag, s.lag)
}

// Lag is how late the driver's own timers were at most while any instance ran. It waits for Done.
func (e *Engine) Lag() time.Duration {
	<-e.done
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lag
}
