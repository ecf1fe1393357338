package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// plan is the order in which slots run.
type plan struct {
	shared, exclusive, destructive []*slot
	skipped                        []skipped
}

type skipped struct {
	slot *slot
	skip bundle.Skip
}

// schedule sorts the slots. It skips those that cannot run, and orders the shared ones
// so that those of first contact begin first, then the longest (the wall time then comes close to the longest). The
// others keep their order, except that destructive ones that the target does not
// survive, according to its profile, come last.
func (e *Engine) schedule() plan {
	var p plan
	for _, s := range e.slots {
		sc := s.instance.Scenario
		why := e.refuse(s.run)
		switch {
		case why != nil:
			p.skipped = append(p.skipped, skipped{s, *why})
		case sc.Destructive:
			p.destructive = append(p.destructive, s)
		case sc.Exclusive:
			p.exclusive = append(p.exclusive, s)
		default:
			p.shared = append(p.shared, s)
		}
	}
	cal := e.o.Run.Calibration
	slices.SortStableFunc(p.shared, func(a, b *slot) int {
		return cmp.Or(byFirst(a.instance, b.instance), cmp.Compare(estimate(b.instance.Scenario, cal), estimate(a.instance.Scenario, cal)))
	})
	slices.SortStableFunc(p.destructive, func(a, b *slot) int {
		return cmp.Compare(e.deviates(a.instance.Scenario), e.deviates(b.instance.Scenario))
	})
	return p
}

// byFirst orders instances: what shows whether a surface answers at all comes before the others.
func byFirst(a, b scenarios.Instance) int {
	switch {
	case a.Scenario.First == b.Scenario.First:
		return 0
	case a.Scenario.First:
		return -1
	}
	return 1
}

// deviates returns 1 for a scenario with a rule that the profile allows to be broken,
// otherwise 0.
func (e *Engine) deviates(s *scenarios.Scenario) int {
	if e.o.Profile == nil {
		return 0
	}
	for _, rule := range s.Rules {
		d, named := e.o.Profile.Deviations[rule]
		if !named {
			continue
		}
		var symptom bundle.Symptom // any that the deviation allows
		if len(d.Symptoms) > 0 {
			symptom = d.Symptoms[0]
		}
		if d.Allows(s.ID, symptom) {
			return 1
		}
	}
	return 0
}

// refuse says why an instance cannot run, or returns nil.
func (e *Engine) refuse(i scenarios.Instance) *bundle.Skip {
	missing := missing(i, e.o.Run.Features, e.env.http2())
	if e.o.Target.IsService() && len(missing) == 0 {
		missing = ofProcesses(i.Scenario)
	}
	switch {
	case len(missing) > 0:
		return &bundle.Skip{Reason: bundle.SkipFeature, Detail: strings.Join(missing, ", ")}
	case i.Scenario.Destructive && !e.o.Destructive:
		return &bundle.Skip{Reason: bundle.SkipDestructive, Detail: "it may kill the target; --destructive runs it"}
	case !i.Scenario.Slow.IsZero() && !e.o.Slow:
		wait := i.Scenario.Slow.Resolve(e.o.Run.Calibration).Round(time.Millisecond)
		return &bundle.Skip{Reason: bundle.SkipSlow, Detail: "it waits " + wait.String() + "; --slow runs it"}
	}
	return nil
}

// ofProcesses returns process.start if a script without that need starts or uses processes.
func ofProcesses(s *scenarios.Scenario) []string {
	const start = "process.start"
	var ids []string
	s.EachStep(func(st *scenarios.Step) {
		if st.Feature() == start {
			ids = []string{start}
		}
	})
	return ids
}

// The minimum cost of a step in an estimate: scenarios compete for the processor, so a
// call takes longer than it did in the calibration.
const (
	leastTrip  = int64(time.Millisecond)
	leastSpawn = int64(5 * time.Millisecond)
)

// estimate guesses how long a scenario takes, well enough to put the long ones first:
// the waits of the script, plus a spawn and two round trips per step.
func estimate(s *scenarios.Scenario, cal bundle.Calibration) time.Duration {
	cal.RTT, cal.Spawn = max(cal.RTT, leastTrip), max(cal.Spawn, leastSpawn)
	times, parallel := max(1, s.Repeat.Times), max(1, s.Repeat.Parallel)
	total := s.Slow.Resolve(cal) + stepsEstimate(s.Steps, cal)*time.Duration(times)/time.Duration(min(times, parallel))
	if hasOrders(s) {
		total += s.Repeat.Budget.Resolve(cal) / 4
	}
	return total
}

// slowRead is what a step that limits the rate of reading adds to an estimate. The length of the
// output is not known.
const slowRead = 3 * time.Second

func stepsEstimate(steps []scenarios.Step, cal bundle.Calibration) time.Duration {
	var sum time.Duration
	for i := range steps {
		st := &steps[i]
		sum += 2*time.Duration(cal.RTT) + st.Poll().Resolve(cal)
		switch {
		case st.Start != nil:
			sum += time.Duration(max(cal.Spawn, cal.End))
			if st.Start.TimeoutMS != nil && *st.Start.TimeoutMS > 0 {
				sum += time.Duration(min(*st.Start.TimeoutMS, 10_000)) * time.Millisecond
			}
		case st.Pause != nil:
			sum += st.Pause.Resolve(cal)
		case st.Await != nil:
			sum += st.Await.Silence.Resolve(cal)
		case st.Read != nil && st.Read.Rate > 0:
			sum += slowRead
		case st.Parallel != nil:
			sum += stepsEstimate(st.Parallel, cal)
		}
	}
	return sum
}
