package selftest

import (
	"cmp"
	"maps"
	"slices"

	"assay/fakes/zoo"
	"assay/internal/judge/outcome"
	"assay/internal/record/bundle"
)

// counts reports whether a verdict can blame a fault: one that did not pass on the reference gateway
// cannot. A rule that was not judged there can, because the fault made it applicable.
func (t *tester) counts(k key) bool {
	_, known := t.baseline.verdicts[k]
	return !known || t.baseline.passed(k)
}

// counted returns the verdicts that can blame, by rule, scenario and axes.
func (t *tester) counted(all verdicts) []bundle.Verdict {
	var out []bundle.Verdict
	for _, k := range slices.SortedFunc(maps.Keys(all), key.compare) {
		if t.counts(k) {
			out = append(out, all[k])
		}
	}
	return out
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.rule, o.rule), cmp.Compare(k.scenario, o.scenario), cmp.Compare(k.axes.String(), o.axes.String()))
}

// broken reports whether a verdict says that a rule is broken.
func broken(v bundle.Verdict) bool {
	return v.Conclusion == bundle.Fail || v.Conclusion == bundle.Flaky || v.Conclusion == bundle.Advisory
}

// isDefect reports whether a verdict is a defect in Assay.
func isDefect(v bundle.Verdict) bool { return v.Conclusion == bundle.Error }

// bad reports whether a verdict accuses a gateway, or Assay.
func bad(v bundle.Verdict) bool {
	return broken(v) || isDefect(v) || v.Conclusion == bundle.UnexpectedPass
}

// accuse sets the causes and the blame of a fault.
func (t *tester) accuse(f *zoo.Fault, tr *trial, r *bundle.FaultResult) {
	counted := t.counted(tr.verdicts)
	causes := outcome.Causes(t.baseline.like, t.catalogue, counted)
	r.Causes, r.Blame, r.Unattached = []string{}, blames(f.Breaks, causes, counted), 0
	for _, c := range causes {
		r.Causes = append(r.Causes, c.Rule)
	}
	for _, b := range r.Blame {
		if !b.Attached {
			r.Unattached++
		}
	}
}

// blames returns the causes that a fault does not name and the rules that follow from any cause, those
// first that do not follow from a rule of the fault. A defect in Assay counts regardless of the fault,
// and follows from nothing.
func blames(breaks []string, causes []bundle.Cause, counted []bundle.Verdict) []bundle.Blame {
	out := []bundle.Blame{}
	for _, c := range causes {
		for _, rule := range append([]string{c.Rule}, c.Follows...) {
			if !slices.Contains(breaks, rule) {
				out = append(out, blame(rule, c.Rule, slices.Contains(breaks, c.Rule), shown(counted, rule, broken)))
			}
		}
	}
	var last string
	for _, v := range counted {
		if isDefect(v) && v.Rule != last {
			last = v.Rule
			out = append(out, blame(last, last, false, shown(counted, last, isDefect)))
		}
	}
	slices.SortStableFunc(out, func(a, b bundle.Blame) int {
		switch {
		case a.Attached == b.Attached:
			return cmp.Compare(a.Rule, b.Rule)
		case b.Attached:
			return -1
		}
		return 1
	})
	return out
}

// blame returns the blame for a rule from the verdicts that show it.
func blame(rule, cause string, attached bool, by []bundle.Verdict) bundle.Blame {
	b := bundle.Blame{Rule: rule, Cause: cause, Attached: attached, Scenarios: []string{}}
	for n, v := range by {
		if n == 0 {
			b.Axes, b.Message = v.Axes, v.Message
		}
		if v.Scenario != "" && !slices.Contains(b.Scenarios, v.Scenario) {
			b.Scenarios = append(b.Scenarios, v.Scenario)
		}
	}
	return b
}

// shown returns the verdicts of one kind on a rule.
func shown(all []bundle.Verdict, rule string, kind func(bundle.Verdict) bool) []bundle.Verdict {
	return slices.DeleteFunc(slices.Clone(all), func(v bundle.Verdict) bool { return v.Rule != rule || !kind(v) })
}

// unattached returns the verdicts behind unattached blame.
func (t *tester) unattached(tr *trial, r *bundle.FaultResult) verdicts {
	out := t.unfair(tr.verdicts)
	maps.DeleteFunc(out, func(k key, _ bundle.Verdict) bool {
		return !slices.ContainsFunc(r.Blame, func(b bundle.Blame) bool { return b.Rule == k.rule && !b.Attached })
	})
	return out
}
