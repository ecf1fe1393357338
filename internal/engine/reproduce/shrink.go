package reproduce

import (
	"context"
	"strconv"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// shrink searches for a smaller form of a failure: fewer iterations, fewer generated
// bytes, no splits, one place of a sweep. A form counts when the same rule fails and a
// correct gateway passes, so that the failure is the target's. It returns the smallest
// form found in time. There is no correct gateway for a service that is none, so its failures stay
// as they are.
func (m *maker) shrink(ctx context.Context, f Failure) (Failure, []scenarios.Override) {
	if m.o.Incomparable {
		return f, nil
	}
	reference, err := m.refer(ctx)
	if err != nil {
		return f, nil
	}
	var taken []scenarios.Override
	for _, values := range f.Instance.Scenario.Smaller(m.swept(f)) {
		for _, o := range values {
			if ctx.Err() != nil {
				return f, taken
			}
			small, ok := m.smaller(ctx, reference, f, append(taken[:len(taken):len(taken)], o))
			if ok {
				f.Observation, f.Verdict = small.Observation, small.Verdict
				taken = append(taken, o)
				break
			}
		}
	}
	if len(taken) > 0 {
		f.Instance.Scenario, _ = f.Instance.Scenario.With(taken...)
	}
	return f, taken
}

// shrinkTime limits one trial of a smaller form, which runs on the target and on a correct gateway.
const shrinkTime = 5 * time.Second

// smaller tries one form.
func (m *maker) smaller(ctx context.Context, reference *Reference, f Failure, overrides []scenarios.Override) (Failure, bool) {
	ctx, cancel := context.WithTimeout(ctx, shrinkTime)
	defer cancel()
	s, err := f.Instance.Scenario.With(overrides...)
	if err != nil {
		return f, false
	}
	form := f
	form.Instance.Scenario = s
	observed := m.o.Again(ctx, []scenarios.Instance{form.Instance})[0]
	v := verdictOf(m.o.Judge, m.o.Run, form, observed)
	if observed == nil || observed.Interrupted || another(f.sighting(), sighting{v, observed}, false) != "" {
		return f, false
	}
	right := reference.Again(ctx, []scenarios.Instance{form.Instance})[0]
	if r := verdictOf(m.o.Judge, reference.Run, form, right); r == nil || r.Conclusion != bundle.Pass {
		return f, false
	}
	f.Observation, f.Verdict = observed, *v
	return f, true
}

// swept returns the sweep values in the failed iteration.
func (m *maker) swept(f Failure) map[string]scenarios.Span {
	e := f.Verdict.Evidence
	if e == nil || e.Iteration < 0 || e.Iteration >= len(f.Observation.Iterations) {
		return nil
	}
	out := map[string]scenarios.Span{}
	for name, value := range f.Observation.Iterations[e.Iteration].Vars {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			out[name] = scenarios.Span{Fixed: time.Duration(n)}
		}
	}
	return out
}
