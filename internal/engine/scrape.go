package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/record/ledger"
	"assay/internal/record/surface"
	"assay/scenarios"
)

// around is the Iteration of a scrape before or after all iterations.
const around = -1

// restGrace is the number of further scrapes when the gauge is back to its old value
// while the sum of the counters is not: a target may count a moment later. What is
// still wrong after them is the target's fault.
const restGrace = 10

// maxExposition is the longest exposition that is kept.
const maxExposition = 4 << 20

func (it *iteration) scrapeStep(ctx context.Context, s *scenarios.Scrape) error {
	scrape := it.in.scrape(ctx, cmp.Or(s.As, "scrape"), it.index)
	it.mu.Lock()
	it.scrapes = append(it.scrapes, scrape)
	it.mu.Unlock()
	return interrupted(ctx)
}

// scrape reads the exposition once, on a connection of its own outside any iteration.
func (in *instance) scrape(ctx context.Context, name string, iteration int) bundle.Scrape {
	ctx, cancel := context.WithTimeout(ctx, in.scrapeBound())
	defer cancel()
	rec := in.target.NewRecorder(in.clock)
	defer rec.Finish(nil)
	plain := in.plain()
	x := plain.direct(ctx, rec, opScrape, plain.render().Surface(plain.form(), surface.Metrics, "GET", "", nil))
	s := x.Snapshot()
	out := bundle.Scrape{Name: name, Iteration: iteration, Sent: s.Invoked, Received: s.Invoked}
	if s.Returned != nil {
		out.Received = *s.Returned
	}
	if s.Response != nil {
		out.Status = s.Response.Status
		if out.Body = slices.Clone(in.target.Redactor().Bytes(x.BodyBytes())); len(out.Body) > maxExposition {
			out.Body, out.Err = nil, fmt.Sprintf("Assay reads at most %d bytes of an exposition", maxExposition)
			return out
		}
		if types := s.Response.Get("Content-Type"); len(types) > 0 {
			out.Type = types[0]
		}
	}
	if s.Outcome == bundle.OutcomeNoAnswer {
		in.unscraped.Store(true)
	}
	in.breaker.markOwn(opScrape, in, s.Outcome != bundle.OutcomeNoAnswer)
	if s.Outcome != bundle.OutcomeComplete {
		out.Err = string(s.Outcome) + ": " + s.Detail
	}
	return out
}

// scrapeBound bounds one scrape: less after a scrape of the instance had no response, since its
// counters can no longer be compared, or after those of several others.
func (in *instance) scrapeBound() time.Duration {
	bound := in.probeBound()
	if in.unscraped.Load() || in.breaker.isOpen(way{kind: opScrape}) {
		return min(bound, in.paced(20, leastPatience/2, bound))
	}
	return bound
}

// scrapeAtRest reads the exposition until the gauge of active processes is back to its
// value before and everything started is counted as finished or active, or the bound is
// spent. It keeps only the last scrape. A minimum number of scrapes is made in any
// case, since a target that stood still for the whole bound had no chance.
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

// read returns the counters of a scrape; ok is false when the gauge is missing.
func (in *instance) read(s bundle.Scrape) (c ledger.Counters, ok bool) {
	if s.Err != "" || in.counters.Active == "" {
		return c, false
	}
	c, _ = ledger.ReadCounters(s.Body, in.counters)
	return c, c.Has["active"]
}
