package engine

import (
	"context"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// awaitEnds waits, after the last step, for the end of every exchange whose end a clause
// needs. Other exchanges are not waited for, such as a process that sleeps.
func (it *iteration) awaitEnds(ctx context.Context) error {
	ctx = withStep(ctx, "end")
	var errs []error
	for _, h := range it.all() {
		if !it.in.subjects[h.name] || h.underWay() == nil {
			continue
		}
		w := it.onAnswer(h, whatEnd, returned)
		w.endIsEnough = true
		errs = append(errs, it.wait(ctx, w)) // all of them, within one deadline
	}
	return worst(errs...)
}

// abandon ends the exchanges that have not returned. A start without its start event is read
// for a moment longer, so that its process can be ended.
func (it *iteration) abandon(ctx context.Context, out *result) {
	bound, cancel := it.in.aside(ctx, it.in.readOn(), afterInterrupt/6)
	defer cancel()
	for _, h := range it.all() {
		x := h.underWay()
		if x == nil {
			continue
		}
		s := x.Snapshot()
		if mayStart(&s) && pidOf(&s) == 0 && !s.Aborted {
			it.readOn(bound, h)
		}
		outcome, detail := it.outcome(h, &s, out)
		if h.x == nil && outcome == bundle.OutcomeAborted {
			continue // the recorder distinguishes raw bytes without an answer from a cut answer
		}
		x.GiveUp(outcome, detail)
	}
}

// readOn waits for a start event. The wait is not recorded, since no step asked for it.
func (it *iteration) readOn(ctx context.Context, h *handle) {
	w := it.onAnswer(h, bundle.Wait{}, func(x *transport.Exchange) bool {
		s := x.Snapshot()
		return pidOf(&s) != 0
	})
	_ = waitFor(ctx, w, lasting(it.in.readOn())) // the exchange ends now in any case
}

// outcome returns the outcome of an exchange that we give up: stalled or no-answer
// after a vain wait for its answer, otherwise aborted.
func (it *iteration) outcome(h *handle, before *bundle.Exchange, out *result) (bundle.Outcome, string) {
	it.mu.Lock()
	blamed := h.blamed
	it.mu.Unlock()
	switch {
	case out.interrupted:
		return bundle.OutcomeAborted, "the run was interrupted"
	case !out.expired || !blamed:
		return bundle.OutcomeAborted, "the steps had ended, and no clause needs its end"
	case before.Response != nil || receivedSince(h):
		return bundle.OutcomeStalled, "the answer had begun and had not ended by the deadline"
	}
	return bundle.OutcomeNoAnswer, "nothing came before the deadline"
}

func receivedSince(h *handle) bool {
	if h.conn.HTTP2() {
		return false // frames of other streams come as well
	}
	n, _ := h.conn.Received()
	return n > h.had
}
