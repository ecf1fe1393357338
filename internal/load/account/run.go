package account

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"assay/internal/load"
)

// Run is the state that all [Streams] of one run share.
type Run struct {
	plan    *load.Plan
	sink    load.Sink
	classes []load.Class
	// dialects are those of each class in each sandbox of the plan: box + class × boxes.
	dialects []load.Dialect
	boxes    int
	same     []sameOutput // by class
	parts    []*Streams
	// patient: some commands end by themselves, and get a grace period.
	patient bool
	swept   bool   // parts[0] has begun the sweep
	secret  uint64 // of the keys of WebSockets

	open        atomic.Int64 // counted only where the plan has a limit
	uncertain   atomic.Int64
	undrained   atomic.Int64 // parts whose streams are not all over
	interrupted atomic.Bool
}

// NewRun makes a run without parts.
func NewRun(p *load.Plan, s load.Sink) *Run {
	r := &Run{plan: p, sink: s, classes: p.Classes, boxes: p.Boxes(), secret: rand.Uint64()}
	r.same = make([]sameOutput, len(r.classes))
	for i := range r.classes {
		for box := range r.boxes {
			r.dialects = append(r.dialects, r.classes[i].Dialect.In(p, box))
		}
		r.patient = r.patient || !r.classes[i].Endless
	}
	return r
}

// Add adds a part to the run: the streams that one driver opens. now returns the time
// since the beginning of the run, in ns. All parts are added before the first Tend.
func (r *Run) Add(d Driver, now func() int64) *Streams {
	sink := r.sink
	if s, ok := sink.(load.Sharder); ok {
		sink = s.Shard(len(r.parts))
	}
	a := &Streams{
		run: r, plan: r.plan, sink: sink, index: len(r.parts), driver: d, now: now,
		extras: map[int32]*extra{}, swept: map[process]bool{}, scratch: make([]byte, scratchSize),
	}
	for i := range r.classes {
		a.classes = append(a.classes, newClass(r.classes[i], &r.same[i]))
	}
	a.schedule.pacer = r.plan.Pacer()
	a.schedule.next = a.index
	r.parts = append(r.parts, a)
	r.undrained.Store(int64(len(r.parts)))
	return a
}

// scratchSize bounds an output event that is decoded in place.
const scratchSize = 64 << 10

// Requests returns the Start requests: one for each class and sandbox of the plan. That of a
// stream has the index [Stream.Request].
func (r *Run) Requests() ([]load.Request, error) {
	all := make([]load.Request, len(r.dialects))
	for i := range r.dialects {
		var err error
		if all[i], err = r.dialects[i].Start(); err != nil {
			return nil, fmt.Errorf("the Start request: %w", err)
		}
	}
	return all, nil
}

// Interrupt ends the schedule of all parts. Any goroutine may call it; the caller wakes
// the drivers.
func (r *Run) Interrupt() { r.interrupted.Store(true) }

// Lost ends a part whose driver cannot work, and interrupts the others: a part without results
// makes those of the others useless. The caller wakes the drivers.
func (a *Streams) Lost() {
	sc := &a.schedule
	if sc.stage < stageSweep {
		a.run.drained()
	}
	sc.stage = stageDone
	a.run.Interrupt()
}

// drained is called by a part whose streams are all over.
func (r *Run) drained() {
	if r.undrained.Add(-1) == 0 {
		r.parts[0].driver.Wake()
	}
}

// Finish reports the streams whose processes may still run. It is called once, when
// every part is Done.
func (r *Run) Finish() {
	if len(r.parts) == 0 {
		return
	}
	swept := r.parts[0].swept
	var unnamed []process // of WebSockets: any of them is that of any such stream
	for one, ws := range swept {
		if ws {
			unnamed = append(unnamed, one)
		}
	}
	for _, a := range r.parts {
		a.tellGaps()
		for _, one := range a.leftOpen {
			if one.ws && len(unnamed) > 0 {
				one.process, unnamed = unnamed[0], unnamed[1:]
			}
			ws, found := swept[one.process]
			switch {
			case found && ws == one.ws:
				one.result.Fate, one.result.Uncertain = load.FateKilled, false
				delete(swept, one.process)
			case one.ws && one.result.Disconnected && r.parts[0].listed:
				one.result.Fate, one.result.Uncertain = load.EndedHungUp, false
			}
			r.sink.Ended(one.result)
		}
	}
	if r.swept {
		r.sink.Swept(len(swept)) // processes that no stream knows
	}
}
