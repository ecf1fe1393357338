package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"assay/internal/bundle"
	"assay/internal/ledger"
	"assay/internal/transport"
	"assay/scenarios"
)

// around is the Iteration of a scrape that stands before or after all of them.
const around = -1

// restGrace is how many further looks are taken at counters whose gauge is back
// where it was while their sum is not: a target may count a moment later. What
// stays wrong after it is the target's answer.
const restGrace = 10

func (it *iteration) scrapeStep(ctx context.Context, s *scenarios.Scrape) error {
	scrape := it.in.scrape(ctx, cmp.Or(s.As, "scrape"), it.index)
	it.mu.Lock()
	it.scrapes = append(it.scrapes, scrape)
	it.mu.Unlock()
	return interrupted(ctx)
}

// scrape reads the exposition once, on a connection of its own that is not part of any iteration.
func (in *instance) scrape(ctx context.Context, name string, iteration int) bundle.Scrape {
	ctx, cancel := context.WithTimeout(ctx, in.probeBound())
	defer cancel()
	rec := transport.NewRecorder(in.clock, in.secrets)
	defer rec.Finish(nil)
	in = in.plain()
	x := in.direct(ctx, rec, "scrape", in.surfaceRequest(in.form(), surfaceMetrics, "GET", "", nil))
	s := x.Snapshot()
	out := bundle.Scrape{Name: name, Iteration: iteration, Sent: s.Invoked, Received: s.Invoked}
	if s.Returned != nil {
		out.Received = *s.Returned
	}
	if s.Response != nil {
		out.Status = s.Response.Status
		out.Body = slices.Clone(x.BodyBytes())
		if types := s.Response.Get("Content-Type"); len(types) > 0 {
			out.Type = types[0]
		}
	}
	if s.Outcome != bundle.OutcomeComplete {
		out.Err = string(s.Outcome) + ": " + s.Detail
	}
	return out
}

// scrapeAtRest reads the exposition until the gauge of active processes is back
// at its value before and everything started is counted as finished or active, or
// a bound is spent. Only the last one is kept. A target that stood still for the whole bound
// has not had it: some looks are taken in any case.
func (in *instance) scrapeAtRest(ctx context.Context, before bundle.Scrape) bundle.Scrape {
	until := time.Now().Add(in.restBound())
	want, known := in.read(before)
	grace := restGrace
	for looks := 1; ; looks++ {
		last := in.scrape(ctx, "after", around)
		got, ok := in.read(last)
		switch {
		case !known, ctx.Err() != nil, looks > restGrace && time.Now().After(until):
			return last
		case ok && got.Active == want.Active:
			balanced := got.Started-want.Started == got.Finished()-want.Finished()
			if balanced || grace == 0 {
				return last
			}
			grace--
		}
		if sleep(ctx, in.poll()) != nil {
			return last
		}
	}
}

// read is the counters of a scrape; ok is false when the gauge is not among them.
func (in *instance) read(s bundle.Scrape) (c ledger.Counters, ok bool) {
	if s.Err != "" || in.counters.Active == "" {
		return c, false
	}
	c, _ = ledger.ReadCounters(s.Body, in.counters)
	return c, c.Has["active"]
}
