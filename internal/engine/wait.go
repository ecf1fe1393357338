package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"assay/internal/bundle"
)

// waiting is something that is waited for on an exchange or a connection.
type waiting struct {
	on, what string
	// changed is closed at the next thing that happens; it is taken before met and over are asked.
	changed func() <-chan struct{}
	met     func() bool
	// over reports that nothing will come any more.
	over func() bool
	// since is how long ago what is waited for last made progress; nil for what makes none.
	since func() time.Duration
	// within bounds the wait besides the iteration's own deadline; 0 is as long as that.
	within time.Duration
	// idle is how long may pass without progress, where that is less than within; 0 is as long as that.
	idle time.Duration
	// record makes a bundle.Await of it also when it is met.
	record bool
	// endIsEnough: that nothing will come any more ends the wait as well as what was waited for.
	endIsEnough bool
	// optional: that it is not met is neither held against the handle nor why the steps stop.
	optional bool
	handle   *handle
}

// A wait goes on while what is waited for makes progress, for six times its limit, and for
// at most three minutes more than that: a stream that keeps delivering is not late, and one
// that never ends must not hold up the run.
const (
	longestTimes = 6
	longestMore  = 3 * time.Minute
)

// bound is how long something may take: quiet from its last progress, and most in all.
type bound struct{ quiet, most time.Duration }

// lasting is the bound of something that has a limit.
func lasting(limit time.Duration) bound {
	return bound{quiet: limit, most: min(longestTimes*limit, limit+longestMore)}
}

// left is how much longer something may take that has taken so long.
func (b bound) left(took time.Duration, since func() time.Duration) time.Duration {
	quiet := took
	if since != nil {
		quiet = min(took, since())
	}
	return min(b.quiet-quiet, b.most-took)
}

// wait waits. It returns nil when what was waited for has come, errExpired when
// it has not or cannot any more, errInterrupted when the run ends. What is not met
// is always recorded, so that the verdict can name it.
func (it *iteration) wait(ctx context.Context, w waiting) error {
	began := it.in.clock.Stamp()
	b := lasting(cmp.Or(w.within, it.limit))
	b.quiet = min(b.quiet, cmp.Or(w.idle, b.quiet))
	left := max(0, it.left())
	deadline := min(b.quiet, left)
	err := waitFor(ctx, w, b)
	over := errors.Is(err, errOver)
	if over && w.endIsEnough {
		err = nil
	} else if over {
		err = errExpired
	} else if errors.Is(err, errExpired) && w.handle != nil && !w.optional {
		it.blame(w.handle)
	}
	if w.record || errors.Is(err, errExpired) {
		it.addAwait(bundle.Await{
			Step: stepOf(ctx), On: w.on, What: w.what, Began: began, Ended: it.in.clock.Stamp(),
			Deadline: int64(deadline), Met: err == nil, Short: w.within > 0 && left < b.quiet/2,
		}, w.optional)
	}
	return err
}

// errOver ends a wait for something that cannot come any more.
var errOver = errors.New("nothing more will come")

// waitFor waits until it is met, within a bound.
func waitFor(ctx context.Context, w waiting, b bound) error {
	began := time.Now()
	timer := time.NewTimer(max(0, b.quiet))
	defer timer.Stop()
	for {
		changed := w.changed()
		over := w.over() // before met: what comes last must be seen
		switch {
		case w.met():
			return nil
		case over:
			return errOver
		}
		select {
		case <-changed:
		case <-timer.C:
			more := b.left(time.Since(began), w.since)
			if more <= 0 {
				return lastLook(w)
			}
			timer.Reset(more)
		case <-ctx.Done():
			if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				return errInterrupted
			}
			return lastLook(w)
		}
	}
}

// lastLook keeps a wait whose timer fired beside the event from being called expired.
func lastLook(w waiting) error {
	if w.met() {
		return nil
	}
	return errExpired
}

// onExchange waits for a state of an exchange.
func (it *iteration) onExchange(h *handle, what string, met func(*bundle.Exchange) bool) waiting {
	return waiting{
		on: h.name, what: what, handle: h,
		changed: h.x.Changed,
		met: func() bool {
			s := h.x.Snapshot()
			return met(&s)
		},
		over:  func() bool { return returned(h.x) },
		since: func() time.Duration { return it.in.clock.Since(h.x.Progressed()) },
	}
}

// onConn waits for a state of a connection.
func (it *iteration) onConn(h *handle, what string, met func() bool) waiting {
	return waiting{
		on: h.name, what: what, changed: h.conn.Changed, met: met, over: h.conn.PeerClosed,
		since: func() time.Duration {
			_, last := h.conn.Received()
			return it.in.clock.Since(last)
		},
	}
}

// addAwait records a wait. One in vain explains why the steps stopped, unless it was optional.
func (it *iteration) addAwait(a bundle.Await, optional bool) {
	it.mu.Lock()
	defer it.mu.Unlock()
	it.awaits = append(it.awaits, a)
	it.explained = it.explained || !a.Met && !optional
}

func (it *iteration) blame(h *handle) {
	it.mu.Lock()
	defer it.mu.Unlock()
	h.blamed = true
}

// sleep waits for d, or less when the iteration ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// ended tells a deadline from an interrupt.
func ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return errExpired
	}
	return errInterrupted
}
