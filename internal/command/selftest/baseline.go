package selftest

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// reference returns the trial of the reference gateway: only verdicts that pass there count. What needs a token runs
// against one that requires it. Everything that does not pass is confirmed: without a pass it could detect nothing.
func (t *tester) reference(ctx context.Context) (*trial, error) {
	plain := &trial{name: "reference", firm: passes}
	if err := t.learn(ctx, plain, t.all); err != nil {
		return nil, err
	}
	signed := &trial{name: "reference with a token", like: plain.like, firm: passes}
	signed.options.Token = token
	needs := slices.DeleteFunc(slices.Clone(t.all), func(i scenarios.Instance) bool {
		return !slices.Contains(i.Needs(), featureToken) && !slices.Contains(i.Needs(), featureSigned)
	})
	if len(needs) == 0 {
		return plain, nil
	}
	if err := t.learn(ctx, signed, needs); err != nil {
		return nil, err
	}
	for k, v := range signed.verdicts {
		if k.scenario != "" {
			plain.verdicts[k] = v
		}
	}
	maps.Copy(plain.took, signed.took)
	return plain, nil
}

// learn runs instances against a reference gateway.
func (t *tester) learn(ctx context.Context, tr *trial, instances []scenarios.Instance) error {
	run, err := t.look(ctx, tr, t.opts.Jobs, instances)
	if err != nil {
		return err
	}
	tr.like = run
	open := maps.Clone(tr.verdicts)
	maps.DeleteFunc(open, func(k key, v bundle.Verdict) bool {
		return k.scenario == "" || v.Conclusion == bundle.Pass || v.Conclusion == bundle.Unsupported || v.Conclusion == bundle.NotRun
	})
	_, err = t.confirm(ctx, tr, open, nil)
	return err
}

func passes(_ key, v bundle.Verdict) bool { return v.Conclusion == bundle.Pass }

// passed reports whether a rule passed.
func (tr *trial) passed(k key) bool { return passes(k, tr.verdicts[k]) }

// sampled is the number of scenarios per rule to try before all others.
const sampled = 6

// candidates returns the instances that judged one of the rules on the reference gateway with a
// pass: those of scripts that prove it and, for a standing rule, all to which it applied. sample
// has some for each rule, scripts that prove it and different axes first; rest has the others.
func (t *tester) candidates(rules []string) (sample, rest []scenarios.Instance) {
	for _, rule := range rules {
		var on []scenarios.Instance
		for _, i := range t.all {
			if t.baseline.passed(key{i.Scenario.ID, i.Axes, rule}) {
				on = append(on, i)
			}
		}
		slices.SortStableFunc(on, func(a, b scenarios.Instance) int {
			return cmp.Or(cmp.Compare(effort(a, rule), effort(b, rule)), cmp.Compare(t.baseline.took[a], t.baseline.took[b]))
		})
		seen := map[bundle.Axes]int{}
		for _, i := range on {
			switch {
			case slices.Contains(sample, i):
			case len(seen) < sampled && seen[i.Axes] == 0, seen[i.Axes] == 1 && len(seen) < 2:
				sample = append(sample, i)
			default:
				rest = append(rest, i)
			}
			seen[i.Axes]++
		}
	}
	return sample, unique(without(rest, sample))
}

// without returns the instances of list that are not in other.
func without(list, other []scenarios.Instance) []scenarios.Instance {
	return slices.DeleteFunc(slices.Clone(list), func(i scenarios.Instance) bool { return slices.Contains(other, i) })
}

// effort orders instances: scripts that name the rule first, scripts that repeat their steps or
// run alone last.
func effort(i scenarios.Instance, rule string) int {
	n := 0
	if !slices.Contains(i.Scenario.Rules, rule) {
		n += 4
	}
	if i.Scenario.Exclusive {
		n++
	}
	if i.Scenario.Repeat.Times > 1 {
		n += 2
	}
	return n
}

func unique(list []scenarios.Instance) []scenarios.Instance {
	var out []scenarios.Instance
	for _, i := range list {
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}
