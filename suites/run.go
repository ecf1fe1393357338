package suites

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"assay/fakes"
	"assay/internal/bundle"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/target"
	"assay/internal/transport"
	"assay/scenarios"
)

// Run tests a target: it probes and calibrates it, runs the selected scenarios,
// judges what was observed and writes the bundle. Cancelling ctx interrupts the
// run; what was observed by then is judged and written, and the outcome says so.
//
// Errors are preconditions: *target.UnreachableError when there is nothing to
// test, *scenarios.ScriptError for a broken script or profile, and whatever a
// wrong option or an unwritable bundle gives. A verdict is never an error.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	o.setDefaults()
	s, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.conduct(ctx)
}

// session is a run under way.
type session struct {
	opts      Options
	catalogue *scenarios.Catalogue
	profile   *scenarios.Profile
	target    *target.Target
	clock     *transport.Clock
	run       *bundle.Run
	instances []scenarios.Instance
	judge     *judge.Judge
	writer    *bundle.Writer
	gateway   *fakes.Gateway // the embedded one, or nil

	mu       sync.Mutex
	verdicts map[scenarios.Instance][]bundle.Verdict
	writeErr error
}

// prepare does everything up to the first scenario.
func prepare(ctx context.Context, o Options) (_ *session, err error) {
	s := &session{opts: o, verdicts: map[scenarios.Instance][]bundle.Verdict{}}
	if err := s.load(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if err := s.reach(ctx); err != nil {
		return nil, err
	}
	s.judge = &judge.Judge{Rules: s.catalogue, Profile: s.profile, Strict: o.Strict}
	if s.writer, err = bundle.Create(o.Out, s.run); err != nil {
		return nil, err
	}
	for _, i := range s.instances {
		if err := s.writer.Script(i.Scenario.ID, i.Scenario.Text); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// load reads catalogue and profile and selects; nothing touches the target yet,
// so that a typing error costs no run.
func (s *session) load() (err error) {
	if s.catalogue, err = scenarios.Load(); err != nil {
		return err
	}
	name := s.opts.Profile
	if name == "" {
		name = "connect"
		if s.opts.Target.URL == "" {
			name = "full"
		}
	}
	if s.profile, err = scenarios.LoadProfile(name); err != nil {
		return err
	}
	s.instances, err = s.catalogue.Select(s.opts.Select)
	return err
}

// reach finds the target, measures and probes it.
func (s *session) reach(ctx context.Context) (err error) {
	o := s.opts.Target
	if o.URL == "" {
		if s.gateway, err = fakes.Start(ctx, fakes.Options{Log: s.opts.Log, Token: o.Token}); err != nil {
			return fmt.Errorf("starting the embedded gateway: %w", err)
		}
		o.URL, o.Embedded = s.gateway.URL(), true
	}
	o.UserAgent = "assay/" + s.opts.Version
	o.Paths = merged(s.profile.Paths, o.Paths)
	if len(o.Shell) == 0 {
		o.Shell = s.profile.Shell
	}
	if s.target, err = target.New(o); err != nil {
		return err
	}
	s.clock = transport.NewClock()
	started := time.Now()
	cal, err := s.target.Calibrate(ctx, s.clock)
	if err != nil {
		return err
	}
	features, err := s.target.Probe(ctx, s.clock, cal)
	if err != nil {
		return err
	}
	s.run = &bundle.Run{
		Schema: bundle.RunSchema, ID: runID(started, s.opts.Seed),
		Tool:    bundle.Tool{Name: "assay", Version: s.opts.Version},
		Started: started, Target: s.target.Identity(), Profile: s.profile.ID,
		Seed: s.opts.Seed, Jobs: s.opts.Jobs, Select: s.opts.Select, Strict: s.opts.Strict,
		Calibration: cal, Features: features,
	}
	return nil
}

// runID is unique enough to find one's own processes on a shared target.
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

// conduct runs the engine below the tree of specs, and concludes.
func (s *session) conduct(ctx context.Context) (*Outcome, error) {
	begun := newTree(s)
	selected := begun.preview()
	s.opts.Progress.Begin(s.run, selected)
	eng := engine.Start(ctx, engine.Options{
		Target: s.target, Run: s.run, Clock: s.clock, Profile: s.profile,
		Destructive: s.opts.Destructive, Slow: s.opts.Slow, Log: s.opts.Log,
		OnStart: s.opts.Progress.Start, OnDone: s.done,
	}, selected)
	begun.present(eng)
	<-eng.Done()
	s.opts.Progress.End()
	return s.conclude(ctx, eng)
}

// done judges one observation as soon as it is there, and stores it.
func (s *session) done(i scenarios.Instance, o *bundle.Observation) {
	verdicts := s.verdictsOf(i, o)
	worst := bundle.Pass
	for _, v := range verdicts {
		worst = bundle.Worst(worst, v.Conclusion)
	}
	if err := s.writer.Observation(o); err != nil {
		s.mu.Lock()
		s.writeErr = errors.Join(s.writeErr, err)
		s.mu.Unlock()
	}
	s.opts.Progress.Done(i, worst, time.Duration(o.Ended.T-o.Started.T))
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

// conclude judges what spans scenarios, draws the report and ends the bundle.
// A bundle that could not be written whole is an error beside the outcome.
func (s *session) conclude(ctx context.Context, eng *engine.Engine) (*Outcome, error) {
	out := &Outcome{Run: s.run, Observations: judge.InOrder(eng.Observations())}
	s.run.Interrupted = ctx.Err() != nil
	s.run.Ended = time.Now()
	for _, o := range out.Observations {
		i, ok := s.instanceOf(o)
		if ok {
			out.Verdicts = append(out.Verdicts, s.verdictsOf(i, o)...)
		}
	}
	out.Verdicts = append(out.Verdicts, s.judge.Run(s.run, out.Observations)...)
	out.Report = judge.Report(s.run, s.catalogue, out.Observations, out.Verdicts)
	err := errors.Join(s.writeErr, s.writer.Finish(s.run, out.Verdicts, out.Report))
	return out, err
}

func (s *session) instanceOf(o *bundle.Observation) (scenarios.Instance, bool) {
	for _, i := range s.instances {
		if i.Scenario.ID == o.Scenario && i.Axes == o.Axes {
			return i, true
		}
	}
	return scenarios.Instance{}, false
}

func (s *session) close() {
	if s.gateway != nil {
		if err := s.gateway.Close(); err != nil {
			s.opts.Log.Warn("closing the embedded gateway", "error", err)
		}
	}
}
