package judge

import (
	"cmp"
	"slices"

	"assay/internal/bundle"
)

// about is what a verdict is about: one rule on one scenario and its axes, the
// n-th time. A target that lacks the usual ways can make two runs of a scenario one.
type about struct {
	scenario string
	axes     bundle.Axes
	rule     string
	n        int
}

// abouts are what each verdict is about.
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

// byAbout finds verdicts by what they are about.
func byAbout(verdicts []bundle.Verdict) map[about]*bundle.Verdict {
	by := map[about]*bundle.Verdict{}
	for i, k := range abouts(verdicts) {
		by[k] = &verdicts[i]
	}
	return by
}

// Changed lists the verdicts that two judgements of the same evidence do not
// share, in the order of scenarios, axes and rules; it is empty, and not nil, when
// they agree. Only what was concluded counts, and not how it is told.
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
