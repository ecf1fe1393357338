package engine

import (
	"context"
	"sync/atomic"
	"time"

	"assay/internal/engine/render"
	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/scenarios"
)

// defaultDeadline bounds an iteration whose script has no deadline.
const defaultDeadline = 10 * time.Second

// instance is one scenario on one set of axes while it runs.
type instance struct {
	*env
	target   *target.Target // of its requests; that of the run, or a sandbox or a control plane
	s        *scenarios.Scenario
	axes     bundle.Axes
	deadline time.Duration // of one iteration
	sweep    *sweep
	wanted   map[string]map[string][]byte // exchange -> stream -> expected bytes
	subjects map[string]bool              // exchanges that clauses are about -> whether their end is needed
	again    int                          // how often to repeat the whole beyond the script
	spent    func() bool                  // reports whether the run's budget is spent
	ways     []way                        // on which it speaks to the target
	requests int                          // about how many one iteration makes
	turn     int                          // another one for each repeat of the scenario in a run
	first    bool                         // what does not come runs again alone
	retried  bool                         // it runs again if requests of it are refused
	idles    func()                       // called while it makes no progress; nil for an instance with nothing beside it
	spaced   bool                         // each of them waits for the pace of the target, and not all together

	unscraped atomic.Bool // a scrape had no response

	// Results for the engine.
	refused atomic.Bool // a connection could not be opened
	died    atomic.Bool // the probe after a destructive scenario failed
	lost    atomic.Bool // a process may run whose pid is unknown
}

func newInstance(e *env, i scenarios.Instance) *instance {
	s := i.Scenario
	in := &instance{env: e, target: e.target, s: s, axes: i.Axes, wanted: wanted(s), subjects: s.Subjects(), again: 1, ways: e.waysOf(i), requests: requestsOf(s), turn: e.turn}
	in.deadline = s.Deadline.Deadline(e.cal)
	if s.Deadline.IsZero() {
		in.deadline = e.scaled(defaultDeadline) + s.Slow.Deadline(e.cal)
	}
	in.deadline += e.commands(s.Steps)
	seed := e.run.Seed ^ hash(s.ID, i.Axes.String())
	in.sweep = newSweep(s.Sweep, max(1, s.Repeat.Times), seed, e.cal)
	return in
}

// render returns what renders the requests of the instance.
func (in *instance) render() render.Renderer {
	return render.Renderer{Target: in.target, Scenario: in.s.ID, Run: in.run.ID}
}

// form returns the form of the instance's requests unless a step sets another.
func (in *instance) form() call.Form {
	a := in.axes
	return call.Form{Protocol: a.Protocol, Codec: a.Codec, HTTP: a.HTTP, Compression: a.Compression}
}

// commands returns the time that the target's shell takes to start the commands that
// steps run one after another. With a login shell of three seconds, six of them exceed
// any deadline made for a fast shell.
func (e *env) commands(steps []scenarios.Step) time.Duration {
	cal := e.cal
	cal.End = 0 // the span below holds it; Deadline must not add it again
	return scenarios.Span{Fixed: time.Duration(inARow(steps)) * time.Duration(e.cal.End)}.Deadline(cal)
}

// inARow returns how many processes steps start one after another.
func inARow(steps []scenarios.Step) (n int) {
	for i := range steps {
		st := &steps[i]
		switch {
		case st.Start != nil, st.Send != nil && st.Send.RPC == call.ProcessStart:
			n++
		case st.Race != nil:
			n += max(inARow([]scenarios.Step{st.Race.A}), inARow([]scenarios.Step{st.Race.B}))
		case len(st.Parallel) > 0:
			most := 0
			for j := range st.Parallel {
				most = max(most, inARow(st.Parallel[j:j+1]))
			}
			n += most
		}
	}
	return n
}

// wanted returns the outputs that clauses expect as a whole, by exchange and stream, to
// find the first difference.
func wanted(s *scenarios.Scenario) map[string]map[string][]byte {
	all := make(map[string]map[string][]byte)
	add := func(name, stream string, o *scenarios.OutputMatch) {
		p, set := o.Resolve(nil)
		if !set {
			return
		}
		if all[name] == nil {
			all[name] = make(map[string][]byte)
		}
		all[name][stream] = p
	}
	for i := range s.Expect {
		for name, m := range s.Expect[i].Subjects {
			if m == nil {
				continue
			}
			for stream, o := range m.Outputs() {
				add(name, stream, o)
			}
			if m.Body != nil && m.Body.Of != nil {
				add(name, "body", &scenarios.OutputMatch{Bytes: *m.Body.Of})
			}
		}
	}
	return all
}

// observe runs the instance to its end and returns the observation. It never fails: a
// defect of Assay is part of the observation.
func (in *instance) observe(ctx context.Context) *bundle.Observation {
	o := in.observation(scenarios.Instance{Scenario: in.s, Axes: in.axes})
	o.Started = in.clock.Stamp()
	if err := guard(func() error { in.observeInto(ctx, o); return nil }); err != nil {
		o.Defect = err.Error()
	}
	o.Ended = in.clock.Stamp()
	return o
}

func (in *instance) observeInto(ctx context.Context, o *bundle.Observation) {
	counted := hasMetrics(in.s)
	var before bundle.Scrape
	if counted {
		before = in.scrape(ctx, "before", around)
		o.Scrapes = append(o.Scrapes, before)
	}
	r := newRepeater(in)
	r.run(ctx)
	r.into(o)
	if counted && ctx.Err() == nil {
		o.Scrapes = append(o.Scrapes, in.scrapeAtRest(ctx, before))
	}
	o.Interrupted = o.Interrupted || counted && ctx.Err() != nil
	if in.s.Destructive && len(o.Iterations) > 0 && ctx.Err() == nil {
		in.probe(ctx, &o.Iterations[len(o.Iterations)-1])
	}
	in.target.Memory().Hold(o.Size() - r.held)
}

// hasMetrics reports whether a clause is about the metrics.
func hasMetrics(s *scenarios.Scenario) bool {
	for i := range s.Expect {
		if len(s.Expect[i].Metrics) > 0 {
			return true
		}
	}
	return false
}

// hasOrders reports whether a clause is about the interleavings of a race.
func hasOrders(s *scenarios.Scenario) bool {
	for i := range s.Expect {
		if len(s.Expect[i].Orders) > 0 {
			return true
		}
	}
	return false
}

// probe checks whether a target is alive after a destructive scenario; the calls are
// recorded as exchanges with Op probe in the last iteration.
func (in *instance) probe(ctx context.Context, last *bundle.Iteration) {
	rec := in.target.NewRecorder(in.clock)
	in.died.Store(!in.plain().answers(ctx, rec))
	absorb(last, rec)
}
