package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"assay/internal/judge"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// poll repeats the request of a step that polls until the response is what the clauses expect, or the
// time of the poll is over. It waits twice as long after each. The step itself follows, so that the
// request that is judged begins after the deadline: a target that stood still had its chance.
func (it *iteration) poll(ctx context.Context, st *scenarios.Step) error {
	until := time.Now().Add(st.Poll().Deadline(it.in.cal))
	for wait := it.in.poll(); time.Now().Before(until) && !it.sees(ctx, st); wait *= 2 {
		if err := sleep(ctx, min(wait, time.Until(until))); err != nil {
			return err
		}
	}
	return nil
}

// sees makes the request of a step off the record, and reports whether the response is what the
// clauses expect.
func (it *iteration) sees(ctx context.Context, st *scenarios.Step) bool {
	it.in.pace(ctx, 1)
	rec := it.in.target.NewRecorder(it.in.clock)
	look := it.recordedBy(rec)
	a, err := look.prepare(ctx, st, "")
	if err == nil {
		err = a.run(ctx)
	}
	conns, made := rec.Finish(nil)
	if err != nil || len(made) == 0 {
		return false // the step itself shows the error
	}
	var all []bundle.Exchange
	for _, h := range it.all() {
		if h.x != nil {
			all = append(all, h.x.Snapshot())
		}
	}
	all = append(all, made...)
	seen := bundle.Iteration{Index: it.index, Conns: conns, Exchanges: all}
	it.mu.Lock() // steps beside this one share the handles
	seen.Vars = look.variables(all)
	it.mu.Unlock()
	return judge.Fits(it.in.s, it.in.run, &seen, made[0].Name)
}

// recordedBy returns an iteration in the state of it whose further exchanges only rec records.
func (it *iteration) recordedBy(rec *transport.Recorder) *iteration {
	it.mu.Lock()
	defer it.mu.Unlock()
	return &iteration{in: it.in, trail: &trail{
		index: it.index, rec: rec, began: time.Now(), limit: it.limit, vars: it.vars,
		handles: slices.Clone(it.handles), byName: maps.Clone(it.byName),
	}}
}
