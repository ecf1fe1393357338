package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"assay/internal/record/bundle"
)

// whatEnd is the wait for the end of an exchange.
var whatEnd = bundle.Wait{Kind: bundle.WaitEnd}

// waiting describes a wait for a state of an exchange or a connection.
type waiting struct {
	on   string
	what bundle.Wait
	// changed returns a channel that is closed at the next change; it is called before met and over.
	changed func() <-chan struct{}
	met     func() bool
	// over reports that nothing more will come.
	over func() bool
	// since returns the time since the last progress; nil for a wait without progress.
	since func() time.Duration
	// within bounds the wait in addition to the deadline of the iteration; 0 is no
	// further bound.
	within time.Duration
	// idle bounds the time without progress, if it is less than within; 0 is no further bound.
	idle time.Duration
	// record makes a bundle.Await even of a wait that is met.
	record bool
	// endIsEnough lets the end of the exchange meet the wait.
	endIsEnough bool
	// optional keeps an unmet wait from blaming the handle and from stopping the steps.
	optional bool
	handle   *handle
}

// A wait with progress lasts for up to six times its limit, and for at most three
// minutes beyond it: a stream that keeps delivering is not late, but a stream that
// never ends must not delay the run.
const (
	longestTimes = 6
	longestMore  = 3 * time.Minute
)

// bound is the time that a wait may take: quiet since the last progress, and most in
// total.
type bound struct{ quiet, most time.Duration }

// lasting returns the bound of a wait with the given limit.
func lasting(limit time.Duration) bound {
	return bound{quiet: limit, most: min(longestTimes*limit, limit+longestMore)}
}

// left returns how much longer a wait may take after took.
func (b bound) left(took time.Duration, since func() time.Duration) time.Duration {
	quiet := took
	if since != nil {
		quiet = min(took, since())
	}
	return min(b.quiet-quiet, b.most-took)
}

// wait returns nil when the wait is met, errExpired when it is not met in time or can
// no longer be met, and errInterrupted when the run ends. An unmet wait is always
// recorded, so that the verdict can name it.
func (it *iteration) wait(ctx context.Context, w waiting) error {
	began := it.in.clock.Stamp()
	b := lasting(cmp.Or(w.within, it.limit))
	b.quiet = min(b.quiet, cmp.Or(w.idle, b.quiet))
	left := max(0, it.left())
	err := waitFor(ctx, w, b)
	deadline := min(b.quiet, left)
	over := errors.Is(err, errOver)
	end := it.in.clock.Stamp()
	if over && w.endIsEnough {
		err = nil
	} else if over {
		err = errExpired
	} else if errors.Is(err, errExpired) && w.handle != nil && !w.optional {
		it.blame(&w)
	}
	if w.record || errors.Is(err, errExpired) {
		it.addAwait(bundle.Await{
			Step: stepOf(ctx), On: w.on, What: w.what, Began: began, Ended: end,
			Deadline: int64(deadline), Met: err == nil, Short: w.within > 0 && left < b.quiet/2,
		}, w.optional)
	}
	return err
}

// errOver ends a wait that can no longer be met.
var errOver = errors.New("nothing more will come")

// waitFor waits until w is met, within a bound.
func waitFor(ctx context.Context, w waiting, b bound) error {
	began := time.Now()
	timer := time.NewTimer(max(0, min(b.quiet, leastPatience)))
	defer timer.Stop()
	for {
		changed := w.changed()
		over := w.over() // before met, so that the last change is seen
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
			timer.Reset(min(more, leastPatience))
		case <-ctx.Done():
			if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				return errInterrupted
			}
			return lastLook(w)
		}
	}
}

// lastLook returns nil for a wait whose timer fired at the same time as its event.
func lastLook(w waiting) error {
	if w.met() {
		return nil
	}
	return errExpired
}

// onExchange waits for a state of an exchange.
func (it *iteration) onExchange(h *handle, what bundle.Wait, met func(*bundle.Exchange) bool) waiting {
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
func (it *iteration) onConn(h *handle, what bundle.Wait, met func() bool) waiting {
	return waiting{
		on: h.name, what: what, changed: h.conn.Changed, met: met, over: h.conn.PeerClosed,
		since: func() time.Duration {
			_, last := h.conn.Received()
			return it.in.clock.Since(last)
		},
	}
}

// addAwait records a wait. An unmet wait explains why the steps stopped, unless it is
// optional.
func (it *iteration) addAwait(a bundle.Await, optional bool) {
	it.mu.Lock()
	defer it.mu.Unlock()
	it.awaits = append(it.awaits, a)
	it.explained = it.explained || !a.Met && !optional
}

// blame notes that a wait for an exchange ended at its deadline.
func (it *iteration) blame(w *waiting) {
	it.mu.Lock()
	defer it.mu.Unlock()
	w.handle.blamed = true
	it.vain = append(it.vain, w.kind())
}

// sleep waits for d, or until the iteration ends.
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

// ended returns errExpired for a deadline, and errInterrupted for an interrupt.
func ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return errExpired
	}
	return errInterrupted
}
