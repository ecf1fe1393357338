package suites

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"assay/fakes"
	"assay/internal/bundle"
	"assay/internal/engine"
	"assay/internal/reproduce"
	"assay/internal/target"
	"assay/internal/transport"
	"assay/scenarios"
)

// reproduceTime is how long a run may take longer for its reproducers, against a
// gateway on which everything is broken, too; a time scale above 1 stretches it.
const reproduceTime = 10 * time.Second

// reproduce makes the reproducers of all that failed, tries some of them, and puts
// them into the bundle and the report.
func (s *session) reproduce(ctx context.Context, observed map[*bundle.Observation]scenarios.Instance, out *Outcome) error {
	failures := failuresOf(observed, out)
	if len(failures) == 0 {
		return nil
	}
	budget := time.Duration(float64(reproduceTime) * max(1, s.opts.Target.TimeScale))
	if s.run.Interrupted {
		budget = 0
	}
	oracle := &reference{opts: s.opts, clock: s.clock}
	defer oracle.close()
	all := reproduce.All(ctx, reproduce.Options{
		Judge: s.judge, Run: s.run, Target: s.target, Clock: s.clock,
		CACert: s.opts.CACert, Insecure: s.opts.Target.Insecure,
		Again: s.again, Reference: oracle.run, Limit: s.opts.Reproduce, Budget: budget,
	}, failures)
	var errs []error
	for _, r := range all {
		errs = append(errs, s.writer.Reproducer(r))
	}
	out.Reproducers = all
	out.Report.Attach(all)
	return errors.Join(errs...)
}

// failuresOf are the verdicts that somebody will want to see again, in the order
// of the report.
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
		case bundle.Fail, bundle.UnexpectedPass, bundle.Advisory:
		default:
			continue
		}
		k := key{v.Scenario, v.Axes}
		if o := by[k]; o != nil {
			failures = append(failures, reproduce.Failure{Instance: observed[o], Observation: o, Verdict: v, Replay: commands[k]})
		}
	}
	return failures
}

// again runs instances once more against the target of the run.
func (s *session) again(ctx context.Context, instances []scenarios.Instance) []*bundle.Observation {
	return engine.Start(ctx, engine.Options{
		Target: s.target, Run: s.run, Clock: s.clock, Profile: s.profile, Slow: s.opts.Slow, Log: s.opts.Log,
	}, instances).Observations()
}

// reference is a gateway that is known to be correct, started when it is first asked for.
type reference struct {
	opts  Options
	clock *transport.Clock

	once    sync.Once
	gateway *fakes.Gateway
	target  *target.Target
	made    *bundle.Run
	err     error
}

// run runs an instance against it.
func (r *reference) run(ctx context.Context, i scenarios.Instance) (*bundle.Observation, error) {
	r.once.Do(func() { r.err = r.start(ctx) })
	if r.err != nil {
		return nil, r.err
	}
	return engine.Start(ctx, engine.Options{
		Target: r.target, Run: r.made, Clock: r.clock, Slow: true, Log: r.opts.Log,
	}, []scenarios.Instance{i}).Observations()[0], nil
}

func (r *reference) start(ctx context.Context) (err error) {
	if r.gateway, err = fakes.Start(context.WithoutCancel(ctx), fakes.Options{}); err != nil {
		return fmt.Errorf("starting a gateway to compare with: %w", err)
	}
	r.target, err = target.New(target.Options{URL: r.gateway.URL(), TimeScale: r.opts.Target.TimeScale, Embedded: true})
	if err != nil {
		return err
	}
	r.made = &bundle.Run{ID: "reference", Seed: r.opts.Seed, Jobs: 1}
	if r.made.Calibration, err = r.target.Calibrate(ctx, r.clock); err != nil {
		return err
	}
	r.made.Features, err = r.target.Probe(ctx, r.clock, r.made.Calibration)
	return err
}

func (r *reference) close() {
	if r.gateway != nil {
		_ = r.gateway.Close()
	}
}
