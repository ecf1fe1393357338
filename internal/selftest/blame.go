package selftest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"assay/fakes/zoo"
	"assay/internal/bundle"
	"assay/internal/judge/outcome"
	"assay/scenarios"
)

// verdicts are the verdicts on one gateway.
type verdicts map[key]bundle.Verdict

// judged runs instances against a gateway of the zoo. For like see open.
func (t *tester) judged(ctx context.Context, fo zoo.Options, like *bundle.Run, instances []scenarios.Instance) (verdicts, error) {
	g, err := t.open(ctx, fo, like)
	if err != nil {
		return nil, err
	}
	defer g.close()
	all := verdicts{}
	err = g.exercise(ctx, instances, func(k key, v bundle.Verdict) bool {
		all[k] = v
		return false
	})
	return all, err
}

// trial is a fault with its result and the verdicts of everything that ran against it; the verdicts are nil
// if the first detection ended the trial.
type trial struct {
	fault    zoo.Fault
	res      *bundle.FaultResult
	ran      []scenarios.Instance
	verdicts verdicts
}

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

// accuse sets the causes and the blame of a fault.
func (t *tester) accuse(tr *trial) {
	counted := t.counted(tr.verdicts)
	causes := outcome.Causes(t.baseline.run, t.catalogue, counted)
	tr.res.Causes, tr.res.Blame, tr.res.Unattached = []string{}, blames(tr.fault.Breaks, causes, counted), 0
	for _, c := range causes {
		tr.res.Causes = append(tr.res.Causes, c.Rule)
	}
	for _, b := range tr.res.Blame {
		if !b.Attached {
			tr.res.Unattached++
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

// suspects returns the verdicts behind unattached blame.
func (t *tester) suspects(tr *trial) map[key]bool {
	rules := map[string]bool{}
	for _, b := range tr.res.Blame {
		if !b.Attached {
			rules[b.Rule] = true
		}
	}
	keys := map[key]bool{}
	for k, v := range tr.verdicts {
		if rules[k.rule] && (broken(v) || isDefect(v)) && t.counts(k) {
			keys[k] = true
		}
	}
	return keys
}

// retries is the number of times to retry unattached blame alone: a machine pause does not repeat, and an
// intermittent fault may need more than one try.
const retries = 2

// confirm retries unattached blame with nothing else running, and drops blame that does not repeat.
func (t *tester) confirm(ctx context.Context, tr *trial) error {
	t.accuse(tr)
	open := t.suspects(tr)
	for n := 0; n < retries && len(open) > 0; n++ {
		again, err := t.judged(ctx, zoo.Options{Faults: []string{tr.fault.ID}}, t.baseline.run, tr.behind(open))
		if err != nil {
			return fmt.Errorf("fault %s: %w", tr.fault.ID, err)
		}
		maps.DeleteFunc(open, func(k key, _ bool) bool { return broken(again[k]) || isDefect(again[k]) })
	}
	if len(open) == 0 {
		return nil
	}
	for _, k := range slices.SortedFunc(maps.Keys(open), key.compare) {
		tr.res.Once = append(tr.res.Once, words(k, tr.verdicts[k]))
		delete(tr.verdicts, k)
	}
	t.accuse(tr)
	return nil
}

// behind returns the instances of a trial behind the keys: all of them for verdicts of the whole run.
func (tr *trial) behind(keys map[key]bool) []scenarios.Instance {
	named := map[key]bool{}
	for k := range keys {
		if k.scenario == "" {
			return tr.ran
		}
		named[key{scenario: k.scenario, axes: k.axes}] = true
	}
	return among(tr.ran, named)
}

// words formats a verdict on one line.
func words(k key, v bundle.Verdict) string {
	return fmt.Sprintf("%s [%s] %s: %s: %s", k.scenario, k.axes, k.rule, v.Conclusion, v.Message)
}
