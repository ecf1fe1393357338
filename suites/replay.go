package suites

import (
	"context"
	"fmt"

	"assay/internal/engine"
	"assay/internal/record/bundle"
)

// Replay runs one scenario, repeat times (at least once) on each of its axes selected by
// Options.Select, and calls show for each observation as soon as it is complete. It returns
// the observations with their verdicts in order, without specs or a bundle.
func Replay(ctx context.Context, o Options, repeat int, show func(*bundle.Observation, []bundle.Verdict) error) (*Outcome, error) {
	o.Out = ""
	o.setDefaults()
	s, err := prepare(ctx, o)
	if s != nil {
		defer s.close()
	}
	if err != nil {
		return nil, err
	}
	var out *Outcome
	for n := range max(1, repeat) {
		if n > 0 && ctx.Err() != nil {
			break
		}
		clear(s.verdicts)
		eng := engine.Start(ctx, engine.Options{
			Target: s.target, Run: s.run, Clock: s.clock, Profile: s.profile,
			Destructive: true, Slow: true, Log: o.Log, Doubtful: s.doubtful,
		}, s.instances)
		<-eng.Done()
		for _, i := range s.instances {
			obs := eng.Wait(i)
			if err := show(obs, s.verdictsOf(i, obs)); err != nil {
				return nil, fmt.Errorf("writing the transcript: %w", err)
			}
		}
		s.run.Interrupted = ctx.Err() != nil
		eng.Into(s.run)
		s.release(eng.Observations())
		next, err := s.conclude(observations(eng, s.instances))
		if err != nil {
			return nil, err
		}
		if out == nil || next.Report.Exit != 0 {
			out = next
		}
	}
	return out, nil
}
