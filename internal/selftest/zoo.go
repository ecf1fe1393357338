package selftest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"assay/fakes/zoo"
	"assay/internal/bundle"
	"assay/scenarios"
)

// attempts is the number of tries for an inconclusive scenario: a late driver fails nothing, so a
// fault may go undetected while the machine pauses.
const attempts = 4

// fault runs the scenarios that should detect f, a sample first, and all other candidates before f
// counts as survived. Inconclusive scenarios run again. For blame, the first list runs to its end.
func (t *tester) fault(ctx context.Context, f zoo.Fault, turn int) (*trial, error) {
	tr := &trial{fault: f, res: &bundle.FaultResult{ID: f.ID, Title: f.Title, Breaks: f.Breaks, Source: f.Source, By: []string{}}}
	var queue [][]scenarios.Instance
	switch sample, rest := t.candidates(f.Breaks); {
	case t.opts.Full:
		queue = [][]scenarios.Instance{t.all}
	case t.opts.Blame:
		part := t.part(kindOf(f.Breaks[0]), sample, turn)
		queue = [][]scenarios.Instance{part, without(rest, part)}
	default:
		queue = [][]scenarios.Instance{sample, rest}
	}
	err := pursue(queue, func(instances []scenarios.Instance) (untold []scenarios.Instance, killed bool, err error) {
		untold, err = t.hunt(ctx, tr, instances)
		return untold, tr.res.Killed, err
	})
	return tr, err
}

// blaming reports whether the self-test records blame.
func (t *tester) blaming() bool { return t.opts.Full || t.opts.Blame }

// pursue tries lists of instances until one kills the fault, and then retries inconclusive ones a
// few times.
func pursue(queue [][]scenarios.Instance, try func([]scenarios.Instance) (untold []scenarios.Instance, killed bool, err error)) error {
	for range attempts {
		var open []scenarios.Instance
		for _, instances := range queue {
			if len(instances) == 0 {
				continue
			}
			untold, killed, err := try(instances)
			if err != nil || killed {
				return err
			}
			open = append(open, untold...)
		}
		queue = [][]scenarios.Instance{open}
	}
	return nil
}

// patience limits the time for blaming a detected fault, unless Full is set: a fault that delays each response
// by seconds would take minutes without showing more.
const patience = 30 * time.Second

// hunt runs instances against a fault and records the scenarios that detect it. Unless Full is set, it stops at
// the first. It returns the inconclusive instances. For blame it keeps all verdicts of the first hunt, and the
// detecting ones of later hunts.
func (t *tester) hunt(ctx context.Context, tr *trial, instances []scenarios.Instance) (untold []scenarios.Instance, err error) {
	f, res := tr.fault, tr.res
	g, err := t.open(ctx, zoo.Options{Faults: []string{f.ID}}, t.baseline.run)
	if err != nil {
		return nil, fmt.Errorf("fault %s: %w", f.ID, err)
	}
	defer g.close()
	whole := t.blaming() && tr.verdicts == nil
	if whole {
		tr.ran, tr.verdicts = instances, verdicts{}
	}
	open := map[key]bool{}
	began := time.Now()
	err = g.exercise(ctx, instances, func(k key, v bundle.Verdict) bool {
		late := whole && !t.opts.Full && res.Killed && time.Since(began) > patience
		if whole {
			tr.verdicts[k] = v
		}
		if !slices.Contains(f.Breaks, k.rule) {
			return late
		}
		if !broken(v) || !t.baseline.passed(k) {
			if v.Conclusion == bundle.Inconclusive {
				open[key{scenario: k.scenario, axes: k.axes}] = true
			}
			if !res.Killed && v.Message != "" && v.Conclusion != bundle.NotRun {
				res.Saw = fmt.Sprintf("%s: %s: %s", k.rule, v.Conclusion, v.Message)
			}
			return late
		}
		if tr.verdicts != nil {
			tr.verdicts[k] = v
		}
		if !res.Killed {
			res.Killed, res.Saw = true, v.Message
		}
		if k.scenario != "" && !slices.Contains(res.By, k.scenario) {
			res.By = append(res.By, k.scenario)
		}
		return late || !whole && !t.opts.Full
	})
	if err != nil {
		return nil, fmt.Errorf("fault %s: %w", f.ID, err)
	}
	slices.Sort(res.By)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range res.By {
		t.killers[id] = true
	}
	return among(instances, open), nil
}

// among returns the instances named by keys without a rule.
func among(all []scenarios.Instance, named map[key]bool) []scenarios.Instance {
	return slices.DeleteFunc(slices.Clone(all), func(i scenarios.Instance) bool {
		return !named[key{scenario: i.Scenario.ID, axes: i.Axes}]
	})
}

// variant runs each scenario: no verdict may turn from pass to a breach. Inconclusive verdicts and
// missing optional features do not count.
func (t *tester) variant(ctx context.Context, v zoo.Variant, turn int) (map[key]string, error) {
	instances := t.all
	if !t.opts.Full {
		instances = t.baseline.once(t.all, kindOfVariant(v), turn, variantShare)
	}
	return t.blame(ctx, v.ID, instances)
}

// again concludes on a variant. The scenarios that blamed it run once more alone: a machine that is
// busy with several gateways misses deadlines, but a scenario that is too strict fails twice. Blame
// that does not repeat is recorded separately.
func (t *tester) again(ctx context.Context, v *bundle.VariantResult, first map[key]string) error {
	if len(first) == 0 {
		v.Clean, v.Failing = true, []string{}
		return nil
	}
	named := map[key]bool{}
	for k := range first {
		named[key{scenario: k.scenario, axes: k.axes}] = true
	}
	instances := among(t.all, named)
	second, err := t.blame(ctx, v.ID, instances)
	if err != nil {
		return err
	}
	for k := range second {
		delete(first, k)
	}
	v.Clean, v.Failing, v.Once = len(second) == 0, told(second), told(first)
	return nil
}

// blame returns the failures of a variant, with their messages.
func (t *tester) blame(ctx context.Context, variant string, instances []scenarios.Instance) (map[key]string, error) {
	all, err := t.judged(ctx, zoo.Options{Variants: []string{variant}}, nil, instances)
	if err != nil {
		return nil, fmt.Errorf("variant %s: %w", variant, err)
	}
	return t.unfair(all), nil
}

// unfair returns the breaches on a correct gateway, with their messages.
func (t *tester) unfair(all verdicts) map[key]string {
	blame := map[key]string{}
	for k, v := range all {
		if (broken(v) || isDefect(v) || v.Conclusion == bundle.UnexpectedPass) && t.counts(k) {
			blame[k] = words(k, v)
		}
	}
	return blame
}

// told returns the messages in order.
func told(blame map[key]string) []string {
	return append([]string{}, slices.Sorted(maps.Values(blame))...)
}
