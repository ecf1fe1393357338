package outcome

import "assay/internal/bundle"

// diedIn is the scenario during which the target died, nil when it did not.
func diedIn(obs []*bundle.Observation) *bundle.Died {
	last, _ := Killer(obs)
	if last == nil {
		return nil
	}
	return &bundle.Died{Scenario: last.Scenario, Axes: last.Axes}
}

// Killer returns the observation in which a target stopped answering, as far as can be told, and the
// number of runs that were left out for it; nil and 0 if the target did not stop.
func Killer(obs []*bundle.Observation) (last *bundle.Observation, left int) {
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
