package suites

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/fakes/controlplane"
	"assay/fakes/gateway"
	"assay/internal/engine"
	"assay/internal/engine/reproduce"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/scenarios"
)

const (
	// comeBack is how long a run waits for a target that has died: about what a supervisor takes to start it again.
	comeBack = 10 * time.Second
	// confirmTime limits the time of the second pass, which looks alone for what did not come.
	confirmTime = 8 * time.Second
	// reproduceTime limits the extra time of a run for reproducers; a time scale above 1
	// multiplies it. In a run that took long, they get what is left of wholeTime, but at least an
	// eighth of the time of the scenarios.
	reproduceTime = 15 * time.Second
	wholeTime     = 22 * time.Second
)

// reproducing returns for how long failing scenarios are tried again.
func (s *session) reproducing() time.Duration {
	scaled := func(d time.Duration) time.Duration {
		return time.Duration(float64(d) * max(1, s.opts.Target.TimeScale))
	}
	return min(scaled(reproduceTime), max(scaled(wholeTime)-s.took, s.took/8))
}

// reproduce writes the reproducers of all failures, tries some of them, and adds them to the
// bundle and the report.
func (s *session) reproduce(ctx context.Context, eng *engine.Engine, observed map[*bundle.Observation]scenarios.Instance, out *Outcome) error {
	failures := slices.DeleteFunc(failuresOf(observed, out), func(f reproduce.Failure) bool {
		// What kills the target would cut off the others. The report has its command.
		return s.run.KilledBy(f.Observation.Scenario)
	})
	if len(failures) == 0 {
		return nil
	}
	budget := s.reproducing()
	if left := s.left(); left > 0 {
		budget = min(budget, left)
	}
	if s.run.Interrupted {
		budget = 0
	}
	oracle := &reference{of: s}
	defer oracle.close()
	all := reproduce.All(ctx, reproduce.Options{
		Judge: s.judge, Run: s.run, Target: s.target, Clock: s.clock,
		CACert: s.opts.CACert, Insecure: s.opts.Target.Insecure,
		Again: func(ctx context.Context, instances []scenarios.Instance) []*bundle.Observation {
			all := eng.Again(ctx, instances)
			s.release(all)
			return all
		},
		Reference: oracle.start, Incomparable: s.target.IsService(), Causes: out.Report.Causes,
		Limit: s.opts.Reproduce, Budget: budget,
	}, failures)
	var errs []error
	for _, r := range all {
		errs = append(errs, s.writer.Reproducer(r))
	}
	out.Reproducers = all
	out.Report.Attach(all)
	return errors.Join(errs...)
}

// failuresOf returns the verdicts to reproduce, in the order of the report.
func failuresOf(observed map[*bundle.Observation]scenarios.Instance, out *Outcome) []reproduce.Failure {
	type key struct {
		id   string
		axes bundle.Axes
	}
	commands := map[key]string{}
	for _, r := range out.Report.Scenarios {
		commands[key{r.ID, r.Axes}] = r.Replay
	}
	by := map[key]*bundle.Observation{}
	for _, o := range out.Observations {
		by[key{o.Scenario, o.Axes}] = o
	}
	var failures []reproduce.Failure
	for _, v := range out.Verdicts {
		switch v.Conclusion {
		case bundle.Fail, bundle.Flaky, bundle.UnexpectedPass, bundle.Advisory:
		default:
			continue
		}
		k := key{v.Scenario, v.Axes}
		if o := by[k]; o != nil && o.Omitted == nil {
			failures = append(failures, reproduce.Failure{Instance: observed[o], Observation: o, Verdict: v, Replay: commands[k]})
		}
	}
	return failures
}

// reference is a correct gateway, started on demand.
type reference struct {
	of  *session
	own *gateway.Gateway
}

// start starts the gateway with the scheme, credentials and path prefix of the target.
func (r *reference) start(ctx context.Context) (_ *reproduce.Reference, err error) {
	o := r.of.opts.Target
	base := strings.TrimSuffix(r.of.target.Path("", ""), "/")
	own := gateway.Options{Token: o.Token, TLS: r.of.target.Secure(), Prefix: base, Origins: []string{gateway.ScenarioOrigin}}
	if err = controlplane.Attach(&own, controlplane.Options{APIKey: embeddedKey}); err == nil {
		r.own, err = gateway.Start(context.WithoutCancel(ctx), own)
	}
	if err != nil {
		return nil, fmt.Errorf("starting the reference gateway: %w", err)
	}
	o.URL, o.Embedded, o.Insecure, o.CACert = r.own.URL(), true, r.of.target.Secure(), nil
	o.Shell, o.Paths, o.Control = r.of.target.Shell(), nil, target.Control{APIKey: embeddedKey}
	o.Headers = target.WithoutSandbox(o.Headers)
	to, err := target.New(o)
	if err != nil {
		return nil, err
	}
	made := &bundle.Run{ID: "reference", Seed: r.of.opts.Seed, Jobs: r.of.opts.Jobs}
	if made.Calibration, err = to.Calibrate(ctx, r.of.clock); err != nil {
		return nil, err
	}
	made.Target = to.Identity()
	if made.Features, err = to.Probe(ctx, r.of.clock, made.Calibration); err != nil {
		return nil, err
	}
	return &reproduce.Reference{Run: made, Target: to, Again: func(ctx context.Context, instances []scenarios.Instance) []*bundle.Observation {
		return engine.Start(ctx, engine.Options{
			Target: to, Run: made, Clock: r.of.clock, Profile: r.of.profile, Slow: true, Log: r.of.opts.Log,
		}, instances).Observations()
	}}, nil
}

func (r *reference) close() {
	if r.own != nil {
		_ = r.own.Close()
	}
}
