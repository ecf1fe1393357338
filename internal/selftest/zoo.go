package selftest

import (
	"context"
	"fmt"
	"slices"

	"assay/fakes"
	"assay/internal/bundle"
	"assay/scenarios"
)

// fault runs what should notice f, a sample first, and everything else that can
// before it is said to have survived.
func (t *tester) fault(ctx context.Context, f fakes.Fault) (bundle.FaultResult, error) {
	res := bundle.FaultResult{ID: f.ID, Title: f.Title, Breaks: f.Breaks, Source: f.Source, By: []string{}}
	if t.opts.Full {
		err := t.hunt(ctx, f, &res, t.all)
		return res, err
	}
	sample, rest := t.candidates(f.Breaks)
	for _, instances := range [][]scenarios.Instance{sample, rest} {
		if len(instances) == 0 {
			continue
		}
		if err := t.hunt(ctx, f, &res, instances); err != nil || res.Killed {
			return res, err
		}
	}
	return res, nil
}

// hunt runs instances against a fault, and notes who notices it. It stops at the
// first unless everything is wanted.
func (t *tester) hunt(ctx context.Context, f fakes.Fault, res *bundle.FaultResult, instances []scenarios.Instance) error {
	g, err := t.open(ctx, fakes.Options{Faults: []string{f.ID}}, t.baseline.run)
	if err != nil {
		return fmt.Errorf("fault %s: %w", f.ID, err)
	}
	defer g.close()
	err = g.exercise(ctx, instances, func(k key, v bundle.Verdict) bool {
		if !slices.Contains(f.Breaks, k.rule) {
			return false
		}
		noticed := v.Conclusion == bundle.Fail || v.Conclusion == bundle.Advisory
		if !noticed || !t.baseline.passed(k) {
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
		return fmt.Errorf("fault %s: %w", f.ID, err)
	}
	slices.Sort(res.By)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range res.By {
		t.killers[id] = true
	}
	return nil
}

// variant runs each scenario: nothing may turn from pass to a breach. That it cannot be
// told, or that the variant lacks what is optional, is no blame.
func (t *tester) variant(ctx context.Context, v fakes.Variant, turn int) (bundle.VariantResult, error) {
	res := bundle.VariantResult{ID: v.ID, Clean: true, Failing: []string{}}
	g, err := t.open(ctx, fakes.Options{Variants: []string{v.ID}}, nil)
	if err != nil {
		return res, fmt.Errorf("variant %s: %w", v.ID, err)
	}
	defer g.close()
	instances := t.all
	if !t.opts.Full {
		instances = t.baseline.once(t.all, turn)
	}
	err = g.exercise(ctx, instances, func(k key, now bundle.Verdict) bool {
		blamed := slices.Contains([]bundle.Conclusion{bundle.Fail, bundle.Advisory, bundle.Error, bundle.UnexpectedPass}, now.Conclusion)
		was, known := t.baseline.verdicts[k]
		if blamed && (!known || was.Conclusion == bundle.Pass) {
			res.Clean = false
			res.Failing = append(res.Failing, fmt.Sprintf("%s [%s] %s: %s: %s", k.scenario, k.axes, k.rule, now.Conclusion, now.Message))
		}
		return false
	})
	if err != nil {
		return res, fmt.Errorf("variant %s: %w", v.ID, err)
	}
	slices.Sort(res.Failing)
	return res, nil
}
