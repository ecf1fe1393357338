package judge

import (
	"cmp"
	"slices"

	"assay/internal/bundle"
)

// about is what a verdict is about: one rule on one scenario and its axes.
type about struct {
	scenario string
	axes     bundle.Axes
	rule     string
}

func aboutOf(v *bundle.Verdict) about { return about{v.Scenario, v.Axes, v.Rule} }

// Changed lists the verdicts that two judgements of the same evidence do not
// share, in the order of scenarios, axes and rules; it is empty, and not nil, when
// they agree. Only what was concluded counts, and not how it is told.
func Changed(before, after []bundle.Verdict) []bundle.Change {
	was := map[about]*bundle.Verdict{}
	for i := range before {
		was[aboutOf(&before[i])] = &before[i]
	}
	changes := []bundle.Change{}
	seen := map[about]bool{}
	for i := range after {
		v := &after[i]
		seen[aboutOf(v)] = true
		c := bundle.Change{Scenario: v.Scenario, Axes: v.Axes, Rule: v.Rule, After: v.Conclusion, Message: v.Message}
		if old := was[aboutOf(v)]; old != nil {
			c.Before = old.Conclusion
		}
		if c.Before != c.After {
			changes = append(changes, c)
		}
	}
	for i := range before {
		if v := &before[i]; !seen[aboutOf(v)] {
			changes = append(changes, bundle.Change{Scenario: v.Scenario, Axes: v.Axes, Rule: v.Rule, Before: v.Conclusion, Message: v.Message})
		}
	}
	slices.SortStableFunc(changes, func(a, b bundle.Change) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Axes.String(), b.Axes.String()), cmp.Compare(a.Rule, b.Rule))
	})
	return changes
}
