package engine

import (
	"context"
	"time"

	"assay/internal/base/crash"
)

// lagEvery is the interval of the sampler. Waking a hundred times a second costs less
// than a thousandth of a core.
const lagEvery = 10 * time.Millisecond

// sampled starts the sampler, and returns what ends it.
func (e *Engine) sampled() (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	var sampler crash.Group
	sampler.Go(e.sampleLag(ctx))
	return func() {
		stop()
		sampler.Wait()
	}
}

// sampleLag measures how late this program's own timers are: it sleeps until an instant
// again and again, and records its lateness for every running instance. A driver that
// is late itself cannot hold a time rule against a target.
//
// The first tick is set before the goroutine starts, and each later one under the same
// lock as the record of the one before, so no delay falls between two.
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
		e.env.machine.contend(now)
	}
}

// noteLag records how long the sampler is overdue, as far as s ran during that time.
// The end of s calls it too, since s may end before the sampler gets its turn. The
// caller holds mu.
func (e *Engine) noteLag(s *slot, now time.Time) {
	due := e.tick
	if due.IsZero() {
		return // the sampler does not run
	}
	if s.entered.After(due) {
		due = s.entered
	}
	s.lag = max(s.lag, now.Sub(due))
	e.lag = max(e.lag, s.lag)
}

// Lag waits for Done and returns the maximum lag of the driver's own timers while any
// instance ran.
func (e *Engine) Lag() time.Duration {
	<-e.done
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lag
}
