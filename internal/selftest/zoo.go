package selftest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"assay/fakes"
	"assay/internal/bundle"
	"assay/scenarios"
)

// attempts is how often is tried what could not be told: a driver that was late itself
// blames nobody, so a fault may go by while a machine stands still.
const attempts = 4

// fault runs what should notice f, a sample first, and everything else that can
// before it is said to have survived. What could not be told is not said to have
// missed it: it is run once more.
func (t *tester) fault(ctx context.Context, f fakes.Fault) (res bundle.FaultResult, err error) {
	res = bundle.FaultResult{ID: f.ID, Title: f.Title, Breaks: f.Breaks, Source: f.Source, By: []string{}}
	queue := [][]scenarios.Instance{t.all}
	if !t.opts.Full {
		sample, rest := t.candidates(f.Breaks)
		queue = [][]scenarios.Instance{sample, rest}
	}
	err = pursue(queue, func(instances []scenarios.Instance) (untold []scenarios.Instance, killed bool, err error) {
		untold, err = t.hunt(ctx, f, &res, instances)
		return untold, res.Killed, err
	})
	return res, err
}

// pursue tries lists of instances until one has killed, and after them, a few times, those that
// could not tell.
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

// hunt runs instances against a fault, and notes who notices it. It stops at the
// first unless everything is wanted, and returns those that could not tell.
func (t *tester) hunt(ctx context.Context, f fakes.Fault, res *bundle.FaultResult, instances []scenarios.Instance) (untold []scenarios.Instance, err error) {
	g, err := t.open(ctx, fakes.Options{Faults: []string{f.ID}}, t.baseline.run)
	if err != nil {
		return nil, fmt.Errorf("fault %s: %w", f.ID, err)
	}
	defer g.close()
	open := map[key]bool{}
	err = g.exercise(ctx, instances, func(k key, v bundle.Verdict) bool {
		if !slices.Contains(f.Breaks, k.rule) {
			return false
		}
		noticed := v.Conclusion == bundle.Fail || v.Conclusion == bundle.Advisory
		if !noticed || !t.baseline.passed(k) {
			if v.Conclusion == bundle.Inconclusive {
				open[key{scenario: k.scenario, axes: k.axes}] = true
			}
			if !res.Killed && v.Message != "" && v.Conclusion != bundle.NotRun {
				res.Saw = fmt.Sprintf("%s: %s: %s", k.rule, v.Conclusion, v.Message)
			}
			return false
		}
		if !res.Killed {
			res.Killed, res.Saw = true, v.Message
		}
		if k.scenario != "" && !slices.Contains(res.By, k.scenario) {
			res.By = append(res.By, k.scenario)
		}
		return !t.opts.Full
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

// among are the instances that keys without a rule name.
func among(all []scenarios.Instance, named map[key]bool) []scenarios.Instance {
	return slices.DeleteFunc(slices.Clone(all), func(i scenarios.Instance) bool {
		return !named[key{scenario: i.Scenario.ID, axes: i.Axes}]
	})
}

// variant runs each scenario: nothing may turn from pass to a breach. That it cannot be
// told, or that the variant lacks what is optional, is no blame.
func (t *tester) variant(ctx context.Context, v fakes.Variant, turn int) (map[key]string, error) {
	instances := t.all
	if !t.opts.Full {
		instances = t.baseline.once(t.all, turn)
	}
	return t.blame(ctx, v.ID, instances)
}

// again concludes on a variant that was blamed, or not. The scenarios that blamed it run
// once more, with nothing beside them: a machine that is busy with several gateways lets
// a deadline pass, and a scenario that is too strict blames twice. What was blamed once
// only is kept apart.
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

// blame is what a variant is blamed for by the instances, and in what words.
func (t *tester) blame(ctx context.Context, variant string, instances []scenarios.Instance) (map[key]string, error) {
	g, err := t.open(ctx, fakes.Options{Variants: []string{variant}}, nil)
	if err != nil {
		return nil, fmt.Errorf("variant %s: %w", variant, err)
	}
	defer g.close()
	blame := map[key]string{}
	err = g.exercise(ctx, instances, func(k key, now bundle.Verdict) bool {
		blamed := slices.Contains([]bundle.Conclusion{bundle.Fail, bundle.Advisory, bundle.Error, bundle.UnexpectedPass}, now.Conclusion)
		was, known := t.baseline.verdicts[k]
		if blamed && (!known || was.Conclusion == bundle.Pass) {
			blame[k] = fmt.Sprintf("%s [%s] %s: %s: %s", k.scenario, k.axes, k.rule, now.Conclusion, now.Message)
		}
		return false
	})
	if err != nil {
		return nil, fmt.Errorf("variant %s: %w", variant, err)
	}
	return blame, nil
}

// told are the words of a blame, in order.
func told(blame map[key]string) []string {
	return append([]string{}, slices.Sorted(maps.Values(blame))...)
}
