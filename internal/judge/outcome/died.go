package outcome

import "assay/internal/bundle"

// diedIn returns the scenario during which the target died, or nil.
func diedIn(obs []*bundle.Observation) *bundle.Died {
	last, _ := Killer(obs)
	if last == nil {
		return nil
	}
	return &bundle.Died{Scenario: last.Scenario, Axes: last.Axes}
}

// Killer returns the observation in which the target probably stopped responding (the last one
// that ended), and the number of runs skipped because of it; nil and 0 if it did not stop.
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
