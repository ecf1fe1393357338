package reproduce

import (
	"cmp"
	"slices"

	"assay/internal/record/bundle"
)

// key identifies an instance by value.
type key struct {
	id   string
	axes bundle.Axes
}

func keyOf(f Failure) key { return key{f.Observation.Scenario, f.Observation.Axes} }

// rounds returns the indices of the failures to try: first the best evidence of each
// cause, in the order of the causes, then the others. It picks at most limit instances,
// and none that is not to be tried.
func rounds(causes []bundle.Cause, failures []Failure, limit int) (first, rest []int) {
	chosen := map[key]bool{}
	take := func(i int) bool {
		k := keyOf(failures[i])
		if !chosen[k] && len(chosen) >= limit {
			return false
		}
		chosen[k] = true
		return true
	}
	for _, c := range causes {
		if i := evidence(c, failures); i >= 0 && !slices.Contains(first, i) && take(i) {
			first = append(first, i)
		}
	}
	for _, i := range others(failures, first) {
		if take(i) {
			rest = append(rest, i)
		}
	}
	return first, rest
}

// evidence returns the index of the failure that a cause names as its best evidence, or
// if that cannot be tried, the first other one of its rule; -1 without any.
func evidence(c bundle.Cause, failures []Failure) int {
	other := -1
	for i, f := range failures {
		if f.Verdict.Rule != c.Rule || f.untriable() != "" {
			continue
		}
		if keyOf(f) == (key{c.Scenario, c.Axes}) {
			return i
		}
		if other < 0 {
			other = i
		}
	}
	return other
}

// others returns the remaining failures, the worst first; among equals the first of every
// rule, then the second, and so on.
func others(failures []Failure, taken []int) []int {
	rank := map[string]int{}
	for _, i := range taken {
		rank[failures[i].Verdict.Rule]++
	}
	type ranked struct{ number, rank, conclusion int }
	var all []ranked
	for i, f := range failures {
		if f.untriable() != "" || slices.Contains(taken, i) {
			continue
		}
		all = append(all, ranked{i, rank[f.Verdict.Rule], f.Verdict.Conclusion.Rank()})
		rank[f.Verdict.Rule]++
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.conclusion, a.conclusion), a.rank-b.rank)
	})
	out := make([]int, 0, len(all))
	for _, r := range all {
		out = append(out, r.number)
	}
	return out
}
