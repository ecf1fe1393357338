package outcome

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"assay/internal/record/bundle"
)

// scope lists what the verdict of a run does not cover: skipped runs and allowed deviations.
func scope(obs []*bundle.Observation, verdicts []bundle.Verdict) *bundle.Scope {
	unsupported, notRun, deviations := map[string]int{}, map[string]int{}, map[string]int{}
	for _, o := range obs {
		switch {
		case o == nil:
		case o.CutByBudget:
			notRun[string(bundle.SkipBudget)]++
		case o.Skip == nil:
		case o.Skip.Reason == bundle.SkipFeature:
			for id := range strings.SplitSeq(o.Skip.Detail, ", ") {
				unsupported[id]++
			}
		default:
			notRun[string(o.Skip.Reason)]++
		}
	}
	for i := range verdicts {
		if verdicts[i].Conclusion == bundle.Deviation {
			deviations[verdicts[i].Rule]++
		}
	}
	return scopeOf(unsupported, notRun, deviations)
}

func scopeOf(unsupported, notRun, deviations map[string]int) *bundle.Scope {
	s := &bundle.Scope{Unsupported: counts(unsupported), NotRun: counts(notRun)}
	for _, rule := range slices.Sorted(maps.Keys(deviations)) {
		s.Deviations = append(s.Deviations, bundle.Count{Name: rule, Runs: deviations[rule]})
	}
	return s
}

// counts lists counts by name, most first.
func counts(of map[string]int) []bundle.Count {
	var out []bundle.Count
	for name, n := range of {
		out = append(out, bundle.Count{Name: name, Runs: n})
	}
	slices.SortFunc(out, func(a, b bundle.Count) int { return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Name, b.Name)) })
	return out
}

// addScope adds the scopes of two shards.
func addScope(a, b *bundle.Scope) *bundle.Scope {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := func(x, y []bundle.Count) map[string]int {
		all := map[string]int{}
		for _, c := range slices.Concat(x, y) {
			all[c.Name] += c.Runs
		}
		return all
	}
	return scopeOf(sum(a.Unsupported, b.Unsupported), sum(a.NotRun, b.NotRun), sum(a.Deviations, b.Deviations))
}

// cutShortRun reports whether runs were skipped for a reason other than their flags (--slow,
// --destructive), so that the verdict covers only a part of the selection.
func cutShortRun(s *bundle.Scope) bool {
	if s == nil {
		return false
	}
	return slices.ContainsFunc(s.NotRun, func(c bundle.Count) bool {
		reason := bundle.SkipReason(c.Name)
		return reason != bundle.SkipSlow && reason != bundle.SkipDestructive
	})
}
