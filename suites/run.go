package suites

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"assay/fakes/controlplane"
	"assay/fakes/gateway"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/judge/known"
	"assay/internal/judge/outcome"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// Run tests a target: it calibrates and probes it, runs the selected scenarios, judges the
// observations and writes the bundle. Cancelling ctx interrupts the run; the observations so
// far are judged and written, and the outcome says so.
//
// Errors are missing preconditions: *target.UnreachableError for the target,
// *scenarios.ScriptError for an invalid script or profile, and errors of wrong options or an
// unwritable bundle. A verdict is never an error.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	o.setDefaults()
	s, err := prepare(ctx, o)
	if s == nil {
		return nil, err
	}
	defer s.close()
	switch {
	case ctx.Err() != nil && err != nil:
		return s.nothingRun(bundle.SkipInterrupted)
	case err != nil:
		return s.nothingRun(bundle.SkipBudget)
	case len(s.instances) == 0:
		return s.conclude(nil)
	}
	return s.conduct(ctx)
}

// nothingRun returns the outcome of a run that ended before its first scenario, by an interrupt
// or with its budget: a bundle and a report that say so.
func (s *session) nothingRun(why bundle.SkipReason) (*Outcome, error) {
	s.opts.Progress.Begin(s.run, s.instances)
	observed := map[*bundle.Observation]scenarios.Instance{}
	for _, i := range s.instances {
		o := &bundle.Observation{
			Schema: bundle.ObservationSchema, Run: s.run.ID, Scenario: i.Scenario.ID, Axes: i.Axes, Script: i.Scenario.Digest,
			Seed: s.run.Seed, Skip: &bundle.Skip{Reason: why},
		}
		observed[o] = i
		s.done(i, o)
	}
	s.opts.Progress.End()
	s.run.Interrupted = why == bundle.SkipInterrupted
	s.event(bundle.RunEvent{Kind: bundle.RunInterrupted, Detail: string(why)})
	return s.conclude(observed)
}

// session is a run in progress.
type session struct {
	opts      Options
	catalogue *scenarios.Catalogue
	profile   *scenarios.Profile
	target    *target.Target
	clock     *transport.Clock
	run       *bundle.Run
	instances []scenarios.Instance
	leftOut   []scenarios.Instance // selected, but not accepted by Options.Only, or in another shard
	judge     *judge.Judge
	writer    *bundle.Writer
	gateway   *gateway.Gateway // the embedded gateway, or nil
	notes     []string         // for the report
	until     time.Time        // the end of the budget; zero without one
	took      time.Duration    // by the scenarios
	// showAgain writes the reproducers before the bundle is completed; nil for none.
	showAgain func(map[*bundle.Observation]scenarios.Instance, *Outcome) error

	mu       sync.Mutex
	evidence int64 // bytes of memory that kept observations take
	dropped  int   // observations whose evidence was dropped although a rule is broken or undecided
	verdicts map[scenarios.Instance][]bundle.Verdict
	writeErr error
}

// left returns what is left of the budget, at least a nanosecond; 0 without a budget.
func (s *session) left() time.Duration {
	if s.until.IsZero() {
		return 0
	}
	return max(time.Until(s.until), 1)
}

// prepare does everything up to the first scenario. If it returns a session with an error, the
// run was interrupted or its budget is spent, and it can still conclude.
func prepare(ctx context.Context, o Options) (_ *session, err error) {
	s := &session{opts: o, verdicts: map[scenarios.Instance][]bundle.Verdict{}}
	if err := s.load(); err != nil {
		return nil, err
	}
	if err := s.fit(); err != nil {
		return nil, err
	}
	s.judge = &judge.Judge{Rules: s.catalogue, Profile: s.profile, Strict: o.Strict, Known: o.Known}
	reaching := ctx
	if o.Budget > 0 {
		s.until = time.Now().Add(o.Budget)
		var cancel context.CancelFunc
		reaching, cancel = context.WithDeadline(ctx, s.until)
		defer cancel()
	}
	if err := s.embed(ctx); err != nil {
		return nil, err
	}
	reached := s.reach(reaching)
	if reached != nil && (reaching.Err() == nil || s.run == nil) {
		s.close()
		return nil, reached
	}
	if err := s.open(); err != nil {
		s.close()
		return nil, err
	}
	return s, reached
}

// open creates the bundle with everything needed to judge again. It runs after reach, so that a
// wrong URL does not replace an older bundle.
func (s *session) open() (err error) {
	bundle.Storable(s.run) // it is judged as it is stored
	if s.writer, err = bundle.Create(s.opts.Out, s.run); err != nil {
		return err
	}
	if s.opts.OutLimit > 0 {
		s.writer.Limit(s.opts.OutLimit)
	}
	s.event(bundle.RunEvent{At: s.run.Started, Kind: bundle.RunBegun, Detail: s.run.Target.URL})
	if s.run.Features != nil {
		s.event(bundle.RunEvent{Kind: bundle.RunProbed, Detail: fmt.Sprintf("round trip %s, spawn %s", time.Duration(s.run.Calibration.RTT), time.Duration(s.run.Calibration.Spawn))})
	}
	for _, i := range s.instances {
		if err := s.writer.Script(i.Scenario.ID, i.Scenario.Text); err != nil {
			return err
		}
	}
	return nil
}

// load reads catalogue and profile and selects the instances. It does not use the target, so
// that a typo costs no run.
func (s *session) load() (err error) {
	if s.catalogue, s.profile, err = Catalogue(s.opts); err != nil {
		return err
	}
	s.opts.Select = cmp.Or(s.opts.Select, s.profile.Select)
	if s.instances, s.leftOut, err = chosen(s.catalogue, s.opts); err != nil {
		return err
	}
	return s.override()
}

// override applies Options.Set to the selected scenarios.
func (s *session) override() error {
	changed := map[*scenarios.Scenario]*scenarios.Scenario{}
	for i := range s.instances {
		in := &s.instances[i]
		if changed[in.Scenario] == nil {
			small, err := in.Scenario.With(s.opts.Set...)
			if err != nil {
				return err
			}
			changed[in.Scenario] = small
		}
		in.Scenario = changed[in.Scenario]
	}
	return nil
}

// Plan returns the instances that Run would run, without using the target. It includes slow
// and destructive ones in any case.
func Plan(o Options) (*scenarios.Catalogue, []scenarios.Instance, error) {
	cat, p, err := Catalogue(o)
	if err != nil {
		return nil, nil, err
	}
	o.Select = cmp.Or(o.Select, p.Select)
	instances, _, err := chosen(cat, o)
	return cat, instances, err
}

// chosen returns the instances to run, and the selected ones that Options.Only skips or that are in
// other shards.
func chosen(cat *scenarios.Catalogue, o Options) (run, leftOut []scenarios.Instance, err error) {
	all, err := cat.Select(o.Select)
	if err != nil {
		return nil, nil, err
	}
	for _, i := range all {
		if o.Only == nil || o.Only(i) {
			run = append(run, i)
		} else {
			leftOut = append(leftOut, i)
		}
	}
	if len(run) == 0 {
		return nil, nil, ErrNothingAccepted
	}
	run, others := o.Shard.split(run, o)
	return run, append(leftOut, others...), nil
}

// embeddedKey is the key of the control plane of the embedded gateway.
const embeddedKey = "e2b_a55a1e3bedded0"

// embed starts the embedded gateway if no URL names another one. It lives until ctx ends.
func (s *session) embed(ctx context.Context) (err error) {
	if s.opts.Target.URL != "" {
		return nil
	}
	o := gateway.Options{Log: s.opts.Log, Token: s.opts.Target.Token, Origins: []string{gateway.ScenarioOrigin}}
	if err = controlplane.Attach(&o, controlplane.Options{APIKey: embeddedKey}); err == nil {
		s.gateway, err = gateway.Start(ctx, o)
	}
	if err != nil {
		return fmt.Errorf("starting the embedded gateway: %w", err)
	}
	return nil
}

// reach connects to the target, calibrates and probes it.
func (s *session) reach(ctx context.Context) (err error) {
	o := s.opts.Target
	if s.gateway != nil {
		o.URL, o.Embedded = s.gateway.URL(), true
		o.Control = target.Control{APIKey: embeddedKey}
	}
	o.UserAgent = "assay/" + s.opts.Version
	o.Memory = transport.NewMemory(Records(s.opts.Memory))
	o.Paths = merged(s.profile.Paths, o.Paths)
	if len(o.Shell) == 0 {
		o.Shell = s.profile.Shell
	}
	var want []string
	if s.gateway == nil {
		o.Gateway, want = demand(s.profile, slices.Concat(s.instances, s.leftOut))
		o.Knock = knock(s.instances)
	}
	if s.target, err = target.New(o); err != nil {
		return err
	}
	s.clock = transport.NewClock()
	s.run = s.newRun(time.Now())
	if len(s.instances) == 0 {
		return nil
	}
	if err = s.target.Wait(ctx, s.opts.Wait); err != nil {
		return err
	}
	if s.run.Calibration, err = s.target.Calibrate(ctx, s.clock); err != nil {
		return err
	}
	s.run.Features, err = s.target.Probe(ctx, s.clock, s.run.Calibration, want...)
	s.run.Target = s.target.Identity() // Calibrate and Probe may have changed it
	return err
}

// newRun returns the run before anything is known about the target.
func (s *session) newRun(started time.Time) *bundle.Run {
	r := &bundle.Run{
		Schema: bundle.RunSchema, ID: runID(started, s.opts.Seed),
		Tool:    bundle.Tool{Name: "assay", Version: s.opts.Version},
		Started: started, Target: s.target.Identity(), Profile: s.profile.ID,
		Seed: s.opts.Seed, Jobs: s.opts.Jobs, Select: s.opts.Select, Strict: s.opts.Strict,
		Shard: s.opts.Shard.String(), ProfileText: string(s.profile.Text), RulesText: string(s.catalogue.RulesText), Flags: s.opts.Flags,
	}
	if s.opts.Repeat > 1 {
		r.Repeat = s.opts.Repeat
	}
	if k := s.opts.Known; k != nil {
		r.KnownFile, r.KnownText = k.File, string(k.Text)
		r.LeftOut = s.namedElsewhere(k)
	}
	r.Planned = planned(s.instances)
	return r
}

// namedElsewhere returns what the list of known failures names and the run leaves out: outside of
// the selection, in another shard, or not to be rerun.
func (s *session) namedElsewhere(k *scenarios.Known) (out []bundle.Planned) {
	here := map[bundle.Planned]bool{}
	for _, p := range planned(s.instances) {
		here[p] = true
	}
	for _, scenario := range s.catalogue.Scenarios {
		for _, axes := range scenario.Permutations() {
			p := bundle.Planned{Scenario: scenario.ID, Axes: axes}
			if !here[p] && k.Names(scenario.ID, axes) {
				out = append(out, p)
			}
		}
	}
	return out
}

func planned(instances []scenarios.Instance) []bundle.Planned {
	var out []bundle.Planned
	for _, i := range instances {
		out = append(out, bundle.Planned{Scenario: i.Scenario.ID, Axes: i.Axes})
	}
	return out
}

// runID returns an id unique enough to find our own processes on a shared target.
func runID(at time.Time, seed uint64) string {
	return fmt.Sprintf("%s-%04x", at.UTC().Format("20060102T150405"), (seed^uint64(at.UnixNano()))&0xffff)
}

func merged(under, over map[string]string) map[string]string {
	m := maps.Clone(under)
	if m == nil {
		m = map[string]string{}
	}
	maps.Copy(m, over)
	return m
}

// conduct runs the engine and concludes.
func (s *session) conduct(ctx context.Context) (*Outcome, error) {
	began := time.Now()
	eng, selected := s.observe(ctx)
	s.took = time.Since(began)
	s.opts.Progress.End()
	s.run.Interrupted = ctx.Err() != nil
	eng.Into(s.run)
	s.showAgain = func(observed map[*bundle.Observation]scenarios.Instance, out *Outcome) error {
		return s.reproduce(ctx, eng, observed, out)
	}
	return s.conclude(observations(eng, selected))
}

// oneTree is held by the run whose specs Ginkgo has: it keeps them in globals.
var oneTree sync.Mutex

// observe runs the engine, and returns it when it is done, with the instances that ran. If somebody
// reads Ginkgo's output, these are the specs that Ginkgo selects, and it presents each.
func (s *session) observe(ctx context.Context) (*engine.Engine, []scenarios.Instance) {
	if s.opts.Specs == nil {
		eng := s.start(ctx, s.instances)
		defer s.onInterrupt(ctx)()
		<-eng.Done()
		return eng, s.instances
	}
	oneTree.Lock()
	defer oneTree.Unlock()
	t := newTree(s)
	selected := t.preview()
	eng := s.start(ctx, selected)
	defer s.onInterrupt(ctx)()
	t.present(eng)
	<-eng.Done()
	return eng, selected
}

// start starts the engine.
func (s *session) start(ctx context.Context, selected []scenarios.Instance) *engine.Engine {
	s.run.Planned = planned(selected)
	s.opts.Progress.Begin(s.run, selected)
	return engine.Start(ctx, engine.Options{
		Target: s.target, Run: s.run, Clock: s.clock, Profile: s.profile,
		Destructive: s.opts.Destructive, Slow: s.opts.Slow, Log: s.opts.Log,
		Repeat: s.opts.Repeat, Budget: s.left(),
		Suspicions: s.suspicions, ConfirmBudget: confirmTime, Doubtful: s.doubtful,
		ComeBack: comeBack, Restart: s.opts.Restart,
		OnStart: s.started, OnDone: s.done,
	}, selected)
}

// observations maps the observations of an engine to their instances.
func observations(eng *engine.Engine, ran []scenarios.Instance) map[*bundle.Observation]scenarios.Instance {
	observed := map[*bundle.Observation]scenarios.Instance{}
	for _, i := range ran {
		observed[eng.Wait(i)] = i
	}
	return observed
}

// done judges and stores one observation as soon as it is complete.
func (s *session) done(i scenarios.Instance, o *bundle.Observation) {
	verdicts := s.verdictsOf(i, o)
	worst := bundle.Pass
	for _, v := range verdicts {
		worst = bundle.Worst(worst, v.Conclusion)
	}
	s.keep(s.writer.Observation(o, worst))
	s.reduce(o, worst)
	s.event(bundle.RunEvent{Kind: bundle.ScenarioDone, Scenario: i.Scenario.ID, Axes: i.Axes, Verdict: string(worst)})
	s.opts.Progress.Done(i, worst, time.Duration(o.Ended.T-o.Started.T))
}

// suspicions returns what an observation only suspects.
func (s *session) suspicions(i scenarios.Instance, o *bundle.Observation) []string {
	return judge.Suspicions(s.judge.Scenario(i.Scenario, s.run, o))
}

// doubtful reports whether an observation proves less than its scenario wants.
func (s *session) doubtful(i scenarios.Instance, o *bundle.Observation) bool {
	return judge.Doubtful(s.judge.Scenario(i.Scenario, s.run, o))
}

// verdictsOf judges an observation once.
func (s *session) verdictsOf(i scenarios.Instance, o *bundle.Observation) []bundle.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.verdicts[i]
	if !ok {
		v = s.judge.Scenario(i.Scenario, s.run, o)
		s.verdicts[i] = v
	}
	return v
}

// conclude judges the rules of the whole run, builds the report and completes the bundle. For
// an incomplete bundle it returns an error with the outcome.
func (s *session) conclude(observed map[*bundle.Observation]scenarios.Instance) (*Outcome, error) {
	out := &Outcome{Run: s.run, Observations: judge.InOrder(slices.Collect(maps.Keys(observed)))}
	s.run.Ended = time.Now()
	for _, o := range out.Observations {
		verdicts := s.verdictsOf(observed[o], o)
		for n := range verdicts {
			if s.run.KilledBy(o.Scenario) { // which may have been found after it was judged
				judge.Died(&verdicts[n], observed[o].Scenario, o)
			}
		}
		out.Verdicts = append(out.Verdicts, verdicts...)
	}
	out.Verdicts = append(out.Verdicts, known.List(s.judge.Known, s.run, out.Observations, out.Verdicts)...)
	out.Verdicts = append(out.Verdicts, s.judge.Run(s.run, out.Observations)...)
	out.Report = outcome.Report(s.run, s.catalogue, out.Observations, out.Verdicts)
	s.noteDropped()
	out.Report.Notes = append(out.Report.Notes, s.notes...)
	var again error
	if s.showAgain != nil {
		again = s.showAgain(observed, out)
	}
	return out, errors.Join(again, s.finish(out))
}

func (s *session) close() {
	if s.gateway != nil {
		if err := s.gateway.Close(); err != nil {
			s.opts.Log.Warn("closing the embedded gateway", "error", err)
		}
	}
}
