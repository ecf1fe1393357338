package judge

import (
	"cmp"
	"slices"

	"assay/internal/record/bundle"
)

// about identifies a verdict: the n-th one of a rule on one scenario and its axes. On a target
// that lacks some axes, two planned runs of a scenario can have the same axes.
type about struct {
	scenario string
	axes     bundle.Axes
	rule     string
	n        int
}

// abouts returns the identity of each verdict.
func abouts(verdicts []bundle.Verdict) []about {
	keys, times := make([]about, len(verdicts)), map[about]int{}
	for i := range verdicts {
		k := about{verdicts[i].Scenario, verdicts[i].Axes, verdicts[i].Rule, 0}
		times[k]++
		k.n = times[k] - 1
		keys[i] = k
	}
	return keys
}

// byAbout returns the verdicts by their identity.
func byAbout(verdicts []bundle.Verdict) map[about]*bundle.Verdict {
	by := map[about]*bundle.Verdict{}
	for i, k := range abouts(verdicts) {
		by[k] = &verdicts[i]
	}
	return by
}

// Changed lists the verdicts whose conclusions differ between two judgements of the same
// evidence, by scenario, axes and rule; it is empty, and not nil, if they agree. It ignores
// messages.
func Changed(before, after []bundle.Verdict) []bundle.Change {
	was, is := byAbout(before), byAbout(after)
	changes := []bundle.Change{}
	for i, k := range abouts(after) {
		v := &after[i]
		c := bundle.Change{Scenario: v.Scenario, Axes: v.Axes, Rule: v.Rule, After: v.Conclusion, Message: v.Message}
		if old := was[k]; old != nil {
			c.Before = old.Conclusion
		}
		if c.Before != c.After {
			changes = append(changes, c)
		}
	}
	for i, k := range abouts(before) {
		if v := &before[i]; is[k] == nil {
			changes = append(changes, bundle.Change{Scenario: v.Scenario, Axes: v.Axes, Rule: v.Rule, Before: v.Conclusion, Message: v.Message})
		}
	}
	slices.SortStableFunc(changes, func(a, b bundle.Change) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Axes.String(), b.Axes.String()), cmp.Compare(a.Rule, b.Rule))
	})
	return changes
}
