package engine

import (
	"context"
	"slices"
	"strings"

	"assay/internal/bundle"
	"assay/internal/transport"
	"assay/scenarios"
)

// settle waits, after the last step, for the exchanges whose end the clauses
// speak of. The rest is given up at once: a process that sleeps on is not waited for.
func (it *iteration) settle(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	ctx = withStep(ctx, "end")
	var errs []error
	for _, h := range it.all() {
		if !it.in.needsEnd[h.name] || h.underWay() == nil {
			continue
		}
		w := it.onAnswer(h, "end of the answer", returned)
		w.endIsEnough = true
		errs = append(errs, it.wait(ctx, w)) // all of them, within one deadline
	}
	return worst(errs...)
}

// giveUp ends what has not returned. A start whose event has not come is read on
// for a moment first, so that its process can be ended.
func (it *iteration) giveUp(ctx context.Context, out *result) {
	bound, cancel := aside(ctx, it.in.readOn(), afterInterrupt/6)
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
			continue // the recorder tells raw bytes that were not answered from an answer that was cut
		}
		x.GiveUp(outcome, detail)
	}
}

// readOn waits for a start event without recording the wait: no step asked for it.
func (it *iteration) readOn(ctx context.Context, h *handle) {
	w := it.onAnswer(h, "", func(x *transport.Exchange) bool {
		s := x.Snapshot()
		return pidOf(&s) != 0
	})
	_ = waitFor(ctx, w, lasting(it.in.readOn())) // whatever comes of it, the exchange ends now
}

// outcome is how an exchange ended that we give up: it is the target's doing when
// its answer was waited for in vain, else it is ours.
func (it *iteration) outcome(h *handle, before *bundle.Exchange, out *result) (bundle.Outcome, string) {
	it.mu.Lock()
	blamed := h.blamed
	it.mu.Unlock()
	switch {
	case out.interrupted:
		return bundle.OutcomeAborted, "the run was interrupted"
	case !out.expired || !blamed:
		return bundle.OutcomeAborted, "the steps had ended, and nothing asked for its end"
	case before.Response != nil || receivedSince(h):
		return bundle.OutcomeStalled, "the answer had begun and had not ended by the deadline"
	}
	return bundle.OutcomeNoAnswer, "nothing came before the deadline"
}

func receivedSince(h *handle) bool {
	if h.conn.HTTP2() {
		return false // other frames than the answer's come as well
	}
	n, _ := h.conn.Received()
	return n > h.had
}

// needsEnd are the names of exchanges whose end some clause speaks of.
func needsEnd(s *scenarios.Scenario) map[string]bool {
	names := make(map[string]bool)
	add := func(subjects map[string]*scenarios.Match) {
		for name, m := range subjects {
			if endMatters(m) {
				names[name] = true
			}
		}
	}
	for i := range s.Expect {
		c := &s.Expect[i]
		add(c.Subjects)
		for j := range c.Orders {
			add(c.Orders[j].Subjects)
		}
		for _, name := range c.Parity {
			names[name] = true
		}
		for _, instant := range c.Sequence {
			if name, ok := endInstant(instant); ok {
				names[name] = true
			}
		}
	}
	return names
}

// endMatters reports whether a matcher can only be held against an answer that
// has ended. What asks for a start, a head or a part of the output can be
// answered before; so can "never ends".
func endMatters(m *scenarios.Match) bool {
	if m == nil {
		return false
	}
	if len(m.Outcome) > 0 && !slices.ContainsFunc(m.Outcome, endsByItself) {
		return false
	}
	if m.OK != nil || m.Error != nil || m.End != nil || m.Body != nil || m.Events != "" || m.Conn != "" ||
		len(m.Outcome) > 0 || len(m.Lists) > 0 || len(m.NotLists) > 0 || m.Ends == "once" {
		return true
	}
	if !m.Spread.IsZero() || !m.Within.IsZero() || !m.NotBefore.IsZero() || !m.Gap.IsZero() {
		return true
	}
	if wholeOutput(m.Stdout) || wholeOutput(m.Stderr) || wholeOutput(m.PTY) {
		return true
	}
	return slices.ContainsFunc(m.Any, func(n scenarios.NamedMatch) bool { return endMatters(&n.Match) })
}

// endsByItself reports whether an outcome is not one that we give an exchange.
func endsByItself(outcome string) bool {
	ours := []bundle.Outcome{bundle.OutcomeAborted, bundle.OutcomeNoAnswer, bundle.OutcomeStalled}
	return !slices.Contains(ours, bundle.Outcome(outcome))
}

// wholeOutput reports whether a matcher is about all of an output.
func wholeOutput(m *scenarios.OutputMatch) bool {
	return m != nil && m.Contains == nil && m.PrefixOf == nil
}

// endInstant is the exchange of an instant such as "p.end" that only comes when its answer ends.
func endInstant(instant string) (name string, ok bool) {
	name, what, _ := strings.Cut(instant, ".")
	return name, what == "end" || what == "end-stream" || what == "returned"
}
