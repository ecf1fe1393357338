package outcome

import (
	"slices"

	"assay/internal/record/bundle"
)

// diedIn returns the scenario during which the target died, or nil.
func diedIn(run *bundle.Run, obs []*bundle.Observation) *bundle.Died {
	if killers := Killers(run); len(killers) > 0 {
		return &bundle.Died{Scenario: killers[0].Scenario, Axes: killers[0].Axes}
	}
	if last, left := Gone(obs); left > 0 && last != nil && (run == nil || len(run.Deaths) == 0) {
		return &bundle.Died{Scenario: last.Scenario, Axes: last.Axes}
	}
	return nil
}

// Killers returns the first death of each scenario of which the target died while nothing ran beside it.
func Killers(run *bundle.Run) (first []bundle.Death) {
	if run == nil {
		return nil
	}
	for _, d := range run.Deaths {
		if d.Scenario != "" && !slices.ContainsFunc(first, func(k bundle.Death) bool { return k.Scenario == d.Scenario }) {
			first = append(first, d)
		}
	}
	return first
}

// Gone returns the number of runs skipped because the target did not come back, and the observation that ended last before
// that; 0 and nil if it did not die, or came back.
func Gone(obs []*bundle.Observation) (last *bundle.Observation, left int) {
	for _, o := range obs {
		switch {
		case o == nil:
		case o.Skip != nil:
			if o.Skip.Reason == bundle.SkipTargetGone {
				left++
			}
		case last == nil || last.Ended.Before(o.Ended):
			last = o
		}
	}
	if left == 0 {
		return nil, 0
	}
	return last, left
}
