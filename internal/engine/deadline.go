package engine

import (
	"context"
	"time"

	"assay/internal/crash"
)

const (
	// leastPatience is the shortest time after which a wait counts as one in vain.
	leastPatience = time.Second
	// idleAfter is the time without progress after which an instance only waits, and the interval of the looks at that. The
	// whole catalogue takes 8 s with it, and 9.5 s with five times as much.
	idleAfter = leastPatience / 5
)

// usual returns the time that an iteration takes at most on a target that delivers.
func (in *instance) usual() time.Duration {
	return in.scaled(defaultDeadline+stepsEstimate(in.s.Steps, in.cal)+in.s.Slow.Deadline(in.cal)) + in.commands(in.s.Steps)
}

// within bounds the steps of an iteration: its deadline runs from the last progress of
// any of its exchanges.
func (it *iteration) within(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		defer crash.Catch()
		if it.outlasts(ctx) {
			end(context.DeadlineExceeded)
		}
	}()
	return ctx, func() { end(nil) }
}

// outlasts waits until the iteration has taken too long and returns true, or returns
// false when ctx ends first. One that takes longer than usual counts as waiting in vain until it ends. On a way that is open
// it has no more than the usual time without progress, and twice that with progress: the second pass gives it the rest. It
// soon ends where a request did not reach the gateway and the scenario runs again.
func (it *iteration) outlasts(ctx context.Context) bool {
	in, usual := it.in, it.in.usual()
	for {
		left, took := it.left(), time.Since(it.began)
		if in.idles != nil && it.quiet() >= idleAfter {
			in.idles()
		}
		if took >= usual && !it.turnedAway(isRefusal) {
			in.breaker.mark(in, false)
			if in.breaker.open(in.ways) != nil {
				left = min(left, usual-it.quiet(), 2*usual-took)
			}
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
	return lasting(it.limit).left(time.Since(it.began), it.quiet)
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
