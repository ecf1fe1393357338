package engine

import (
	"context"
	"time"

	"assay/internal/base/crash"
)

const (
	// leastPatience is the shortest time after which a wait counts as one in vain.
	leastPatience = time.Second
	// firstPatience is the time without progress after which an instance of the first pass ends, if it may run again alone
	// with defaultDeadline. It is stretched like the waits of the second pass: where three threads share a processor, both
	// are the same.
	firstPatience = 4 * time.Second
	// idleAfter is the time without progress after which an instance only waits, and the interval of the looks at that. The
	// whole catalogue takes 8 s with it, and 9.5 s with five times as much.
	idleAfter = leastPatience / 5
)

// usual returns the time that an iteration takes at most on a target that delivers.
func (in *instance) usual() time.Duration { return in.estimated(defaultDeadline) }

// patience returns the time without progress after which the first pass leaves an iteration to the second. Where there is
// none, it is the usual time.
func (in *instance) patience() time.Duration {
	wait := defaultDeadline
	if in.first {
		wait = min(stretched(firstPatience, in.machine.stretch()), wait)
	}
	return in.estimated(wait)
}

// estimated returns the time that the steps of an iteration take, and a wait for what does not come.
func (in *instance) estimated(wait time.Duration) time.Duration {
	return in.scaled(wait+stepsEstimate(in.s.Steps, in.cal)+in.s.Slow.Deadline(in.cal)) + in.commands(in.s.Steps)
}

// within bounds the steps of an iteration: its deadline runs from the last progress of
// any of its exchanges.
func (it *iteration) within(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	crash.Go(func() {
		if it.outlasts(ctx) {
			end(context.DeadlineExceeded)
		}
	})
	return ctx, func() { end(nil) }
}

// outlasts waits until the iteration has taken too long and returns true, or returns
// false when ctx ends first. One that takes longer than usual counts as waiting in vain until it ends. On a way that is open
// it has no more than twice the usual time even with progress: the second pass gives it the rest. It soon ends where a
// request did not reach the gateway and the scenario runs again.
func (it *iteration) outlasts(ctx context.Context) bool {
	in, usual := it.in, it.in.usual()
	for {
		left, took := it.left(), time.Since(it.began)
		if in.idles != nil && it.quiet() >= idleAfter {
			in.idles()
		}
		if took >= usual && !it.turnedAway(isRefusal) {
			in.breaker.mark(in, false)
		}
		if in.breaker.open(in.ways) != nil {
			left = min(left, in.patience()-it.quiet(), 2*usual-took)
		}
		if in.retried && it.quiet() >= leastPatience && it.turnedAway(isForeign) {
			return true
		}
		if left <= 0 {
			return true
		}
		if sleep(ctx, min(left, idleAfter)) != nil {
			return false
		}
	}
}

// left returns how much longer the steps may take.
func (it *iteration) left() time.Duration {
	left := lasting(it.limit).left(time.Since(it.began), it.quiet)
	if it.in.s.Deadline.IsZero() {
		left = min(left, it.in.patience()-it.quiet())
	}
	return left
}

// quiet returns the time since any exchange of the iteration made progress.
func (it *iteration) quiet() time.Duration {
	quiet := time.Since(it.began)
	for _, h := range it.all() {
		x := h.x
		if x == nil && h.conn != nil {
			x = h.conn.Raw()
		}
		if x != nil {
			quiet = min(quiet, it.in.clock.Since(x.Progressed()))
		}
	}
	return quiet
}
