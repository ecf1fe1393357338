package engine

import (
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
	// within bounds the wait besides the iteration's own deadline; 0 is no bound of its own.
	within time.Duration
	// idle gives the wait up when nothing happens for that long; 0 never does.
	idle time.Duration
	// record makes a bundle.Await of it also when it is met.
	record bool
	// endIsEnough: that nothing will come any more ends the wait as well as what was waited for.
	endIsEnough bool
	handle      *handle
}

// wait waits. It returns nil when what was waited for has come, errExpired when
// it has not or cannot any more, errInterrupted when the run ends. What is not met
// is always recorded, so that the verdict can name it.
func (it *iteration) wait(ctx context.Context, w waiting) error {
	began := it.in.clock.Stamp()
	deadline := w.within
	if end, ok := ctx.Deadline(); ok {
		left := max(0, time.Until(end))
		if deadline <= 0 || left < deadline {
			deadline = left
		}
	}
	err := waitFor(ctx, w, deadline)
	over := errors.Is(err, errOver)
	if over && w.endIsEnough {
		err = nil
	} else if over {
		err = errExpired
	} else if errors.Is(err, errExpired) && w.handle != nil {
		it.blame(w.handle)
	}
	if w.record || errors.Is(err, errExpired) {
		it.addAwait(bundle.Await{
			Step: stepOf(ctx), On: w.on, What: w.what, Began: began, Ended: it.in.clock.Stamp(),
			Deadline: int64(deadline), Met: err == nil,
		})
	}
	return err
}

// errOver ends a wait for something that cannot come any more.
var errOver = errors.New("nothing more will come")

func waitFor(ctx context.Context, w waiting, deadline time.Duration) error {
	timer := time.NewTimer(max(0, deadline))
	defer timer.Stop()
	idle := newIdle(w.idle)
	defer idle.stop()
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
			idle.reset()
		case <-timer.C:
			return lastLook(w)
		case <-idle.over:
			return lastLook(w)
		case <-ctx.Done():
			if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				return errInterrupted
			}
			return lastLook(w)
		}
	}
}

// idle is a timer that begins anew with everything that happens.
type idle struct {
	after time.Duration
	timer *time.Timer
	over  <-chan time.Time // nil, which never comes, when there is no such limit
}

func newIdle(after time.Duration) *idle {
	if after <= 0 {
		return &idle{}
	}
	t := time.NewTimer(after)
	return &idle{after: after, timer: t, over: t.C}
}

func (i *idle) reset() {
	if i.timer != nil {
		i.timer.Reset(i.after)
	}
}

func (i *idle) stop() {
	if i.timer != nil {
		i.timer.Stop()
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
		over: func() bool { return returned(h.x) },
	}
}

// onConn waits for a state of a connection.
func (it *iteration) onConn(h *handle, what string, met func() bool) waiting {
	return waiting{on: h.name, what: what, changed: h.conn.Changed, met: met, over: h.conn.PeerClosed}
}

func (it *iteration) addAwait(a bundle.Await) {
	it.mu.Lock()
	defer it.mu.Unlock()
	it.awaits = append(it.awaits, a)
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
