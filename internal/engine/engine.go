package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/base/crash"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// defaultJobs is the default number of workers.
const defaultJobs = 8

// Options configure a run. Target, Run and Clock are required.
type Options struct {
	// Target is the gateway under test.
	Target *target.Target
	// Run is only read: ID, Seed, Jobs (0 is 8), Calibration and Features. An instance
	// that needs an absent feature is skipped.
	Run *bundle.Run
	// Clock stamps everything that is recorded.
	Clock *transport.Clock
	// Profile names the metrics. Without it the engine does not wait for the counters
	// to come to rest.
	Profile *scenarios.Profile
	// Destructive and Slow allow the scenarios of that kind, which are otherwise
	// skipped.
	Destructive bool
	Slow        bool
	// Default replaces the default of an axis where a script pins none. An empty axis
	// defaults to the target's own way, for a target without the usual one (HTTP/1.1,
	// Connect, JSON). An observation records the axes that actually ran.
	Default bundle.Axes
	// Repeat runs every instance that many times, as iterations of one observation; 0
	// is 1.
	Repeat int
	// Budget is the time after Start in which instances may run. Then running ones are
	// stopped and cleaned up as after an interrupt, and the others are skipped. 0 is no limit.
	Budget time.Duration
	// Suspicions returns what an observation raises, such as "stalled, connect over 1.1": something did not come in
	// time. Its instance runs again alone, at the end, for at most ConfirmBudget in all (0 is no limit); what it raises
	// then is confirmed. nil confirms nothing.
	Suspicions    func(scenarios.Instance, *bundle.Observation) []string
	ConfirmBudget time.Duration
	// Doubtful reports whether an observation proves less than the script wants. If the target refused requests of it, as
	// too many or by something in front of it, its instance runs again, more slowly and in the end alone. nil repeats nothing.
	Doubtful func(scenarios.Instance, *bundle.Observation) bool
	// ComeBack is how long the run waits for a target that has died, before the time scale: a supervisor may start it again.
	// Restart does so, if its process has ended; nil if the run cannot.
	ComeBack time.Duration
	Restart  func(context.Context)
	// Log may be nil.
	Log *slog.Logger
	// OnStart and OnDone report progress: OnStart for each instance that runs, OnDone
	// for every instance, also a skipped one. Both may be nil. Workers call them one at
	// a time, and the run waits for them.
	OnStart func(scenarios.Instance)
	OnDone  func(scenarios.Instance, *bundle.Observation)
}

// Engine runs instances on a worker pool: first the shared ones in parallel, the
// longest first; then the exclusive ones one by one; then the destructive ones one by
// one, each followed by a probe of the target. Before the destructive ones comes the second pass, in which what raised
// a suspicion runs again alone. When the target dies, the engine waits for it, and seeks the scenario that kills it; see deaths.
// If it does not come back, the remaining instances are skipped.
type Engine struct {
	env   *env
	o     Options
	began time.Time
	slots []*slot
	index map[scenarios.Instance]*slot
	done  chan struct{}

	budget *time.Timer // ends the run; nil without a budget

	callbacks sync.Mutex // serializes OnStart and OnDone
	suspects  []*suspect // in the order in which they ran; guarded by callbacks

	mu      sync.Mutex // guards running, tick, lag, and the beside, entered and lag of slots
	running map[*slot]struct{}
	tick    time.Time     // when the lag sampler should wake next
	lag     time.Duration // the maximum of the run

	admission admission
	deaths    deaths
	left      []bundle.Leftover // set before done is closed
	swept     bool              // left is known

	gone atomic.Bool // the target has died
	lost atomic.Bool // a process may run whose pid is unknown
	ran  atomic.Bool // an instance has run
}

// slot is one instance on its way to an observation.
type slot struct {
	instance    scenarios.Instance  // as given
	run         scenarios.Instance  // with the axes on which it runs
	observation *bundle.Observation // final once ready is closed
	ready       chan struct{}
	beside      map[string]struct{}
	entered     time.Time
	left        time.Time     // guarded by the lock of the deaths
	fell        bool          // the target died while it ran, and is back
	trial       bool          // it runs to see whether the target dies of it
	lag         time.Duration // the maximum while it ran
	ways        []way         // on which it speaks to the target
	tries       bool          // it runs although one of them is open
	idles       func()        // has another worker take the place of its own meanwhile; nil for a slot that runs alone
}

// Start begins to run the instances and returns at once. Cancel ctx to interrupt:
// running scenarios stop, are cleaned up within two seconds and recorded as
// interrupted; the others are recorded as skipped.
func Start(ctx context.Context, o Options, instances []scenarios.Instance) *Engine {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		env:     newEnv(o),
		o:       o,
		began:   time.Now(),
		index:   make(map[scenarios.Instance]*slot, len(instances)),
		done:    make(chan struct{}),
		running: make(map[*slot]struct{}),
	}
	e.admission.pace = o.Target.Pace()
	for _, i := range instances {
		s := &slot{instance: i, run: i, ready: make(chan struct{}), beside: make(map[string]struct{})}
		s.run.Axes = axesOf(i, o.Default, o.Target)
		s.ways = e.env.waysOf(s.run)
		e.slots = append(e.slots, s)
		if _, twice := e.index[i]; !twice {
			e.index[i] = s
		}
	}
	crash.Go(func() { e.run(ctx) })
	return e
}

// Wait waits for the observation of one instance and returns it. It returns nil for an
// instance that was not given to Start.
func (e *Engine) Wait(i scenarios.Instance) *bundle.Observation {
	s := e.index[i]
	if s == nil {
		return nil
	}
	<-s.ready
	return s.observation
}

// Done is closed when every instance has its observation and every OnDone has returned.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Observations waits for Done and returns all observations in the order of the
// instances.
func (e *Engine) Observations() []*bundle.Observation {
	<-e.done
	all := make([]*bundle.Observation, len(e.slots))
	for i, s := range e.slots {
		all[i] = s.observation
	}
	return all
}

// Into waits for Done and writes into a run what the engine knows about all of it.
func (e *Engine) Into(run *bundle.Run) {
	run.DriverLag = int64(e.Lag())
	run.Deaths = e.deaths.all
	run.Machine = e.env.machine.seen(e.o.Target)
	run.Left, run.Swept = e.left, e.swept
	run.Admission = nil
	if a := &e.admission.record; a.Limit.Requests+a.Front.Requests > 0 {
		a.Waited = int64(e.env.target.Pace().Waited())
		run.Admission = a
	}
}

func (e *Engine) run(ctx context.Context) {
	defer close(e.done)
	defer e.sampled()()
	ctx, release := e.withinBudget(ctx)
	defer release()
	defer e.env.noteInterrupt(ctx)()
	e.locate(ctx)
	p := e.schedule()
	for _, s := range p.skipped {
		e.skip(s.slot, s.skip)
	}
	e.runShared(ctx, p.shared)
	e.sweep(ctx)
	for _, s := range p.exclusive {
		e.runOne(ctx, s)
		e.sweep(ctx)
	}
	e.confirm(ctx)
	e.sweep(ctx)
	for _, s := range p.destructive {
		e.runOne(ctx, s)
		e.sweep(ctx)
	}
	e.leaveNothing(ctx)
}

// runOne runs one slot, or records why it does not run.
func (e *Engine) runOne(ctx context.Context, s *slot) {
	// An instance generates what it expects at once. With room it waits for no other instance, which may need the same room.
	defer e.env.makeRoom(ctx, s.run.Scenario)()
	in := e.instance(s)
	useless := e.lostTo(s)
	if useless == nil && !s.tries {
		useless = e.env.breaker.open(s.ways)
	}
	switch {
	case cutByBudget(ctx), ctx.Err() == nil && e.spent():
		e.skip(s, bundle.Skip{Reason: bundle.SkipBudget})
		return
	case ctx.Err() != nil:
		e.skip(s, bundle.Skip{Reason: bundle.SkipInterrupted, Detail: "the run was interrupted before it began"})
		return
	case useless != nil:
		e.skip(s, *useless)
		return
	}
	if e.o.OnStart != nil {
		e.callbacks.Lock()
		e.o.OnStart(s.instance)
		e.callbacks.Unlock()
	}
	o := e.settle(ctx, s, in)
	if s.fell {
		o = e.rise(ctx, s, o)
	}
	s.see(o)
	if !e.suspect(ctx, s) {
		e.finish(s, o)
	}
}

// instance returns a new instance of a slot.
func (e *Engine) instance(s *slot) *instance {
	in := newInstance(e.env, s.run)
	in.again, in.spent, in.idles = max(1, e.o.Repeat), e.spent, s.idles
	in.first = e.o.Suspicions != nil && !s.run.Scenario.Destructive
	return in
}

// observe runs an instance of a slot, with nothing beside it or with others.
func (e *Engine) observe(ctx context.Context, s *slot, in *instance, alone bool) *bundle.Observation {
	e.deaths.await()
	e.enter(s)
	before, _ := e.env.short.since(0)
	e.ran.Store(true)
	o := in.observe(ctx)
	in.wanted = nil // it may be large, and what waits for the end of the run may keep the instance
	o.CutByBudget = o.Interrupted && cutByBudget(ctx)
	o.Lag = int64(e.leave(s))
	left := time.Now()
	o.Beside = sortedKeys(s.beside)
	_, o.Shortage = e.env.short.since(before)
	if s.fell = e.fell(ctx, s, in, o, alone); s.fell {
		e.deaths.counted(1)
	}
	if !alone {
		e.deaths.ends(s, left)
	}
	if in.lost.Load() {
		e.lost.Store(true)
	}
	return o
}

// enter records that s runs beside the slots that run already.
func (e *Engine) enter(s *slot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for other := range e.running {
		other.beside[s.instance.Scenario.ID] = struct{}{}
		s.beside[other.instance.Scenario.ID] = struct{}{}
	}
	e.running[s] = struct{}{}
	s.entered = time.Now()
}

// leave removes s from the running slots, and returns the maximum lag of the driver's
// own timers meanwhile.
func (e *Engine) leave(s *slot) (lag time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.running, s)
	e.noteLag(s, time.Now())
	return s.lag
}

// spent reports whether the run's budget is spent.
func (e *Engine) spent() bool { return e.o.Budget > 0 && time.Since(e.began) >= e.o.Budget }

// errBudget is the cause that ends running scenarios when the budget is spent.
var errBudget = errors.New("the time budget of the run is spent")

// withinBudget returns a context that ends with the budget of the run.
func (e *Engine) withinBudget(ctx context.Context) (context.Context, func()) {
	if e.o.Budget <= 0 {
		return ctx, func() {}
	}
	ctx, end := context.WithCancelCause(ctx)
	e.budget = time.AfterFunc(e.o.Budget-time.Since(e.began), func() { end(errBudget) })
	return ctx, func() {
		e.budget.Stop()
		end(nil)
	}
}

// cutByBudget reports whether ctx ended because the budget was spent.
func cutByBudget(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errBudget) }

func (e *Engine) skip(s *slot, why bundle.Skip) {
	o := e.skipped(s, why)
	s.see(o)
	e.finish(s, o)
}

func (e *Engine) skipped(s *slot, why bundle.Skip) *bundle.Observation {
	o := e.env.observation(s.run)
	o.Started = e.o.Clock.Stamp()
	o.Ended = o.Started
	o.Skip = &why
	return o
}

// see takes the observation of a slot, which is judged as it is stored.
func (s *slot) see(o *bundle.Observation) {
	bundle.Storable(o)
	s.observation = o
}

func (e *Engine) finish(s *slot, o *bundle.Observation) {
	if e.o.OnDone != nil {
		e.callbacks.Lock()
		e.o.OnDone(s.instance, o)
		e.callbacks.Unlock()
	}
	close(s.ready)
}

func sortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
