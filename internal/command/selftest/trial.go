package selftest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"assay/fakes/zoo"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// verdicts are the verdicts on one gateway.
type verdicts map[key]bundle.Verdict

// trial is a gateway of the zoo with the verdicts of everything that ran against it.
type trial struct {
	name    string
	options zoo.Options
	like    *bundle.Run                    // see open
	firm    func(key, bundle.Verdict) bool // verdicts that a later run does not replace; nil: none

	ran      []scenarios.Instance // by look
	verdicts verdicts
	took     map[scenarios.Instance]time.Duration
}

func (tr *trial) put(k key, v bundle.Verdict) {
	if old, known := tr.verdicts[k]; !known || tr.firm == nil || !tr.firm(k, old) {
		tr.verdicts[k] = v
	}
}

// try runs instances against a new gateway of a trial, jobs at a time, until see returns true.
func (t *tester) try(ctx context.Context, tr *trial, jobs int, instances []scenarios.Instance, see func(key, bundle.Verdict) (enough bool)) (*bundle.Run, error) {
	g, err := t.open(ctx, tr.options, tr.like, jobs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tr.name, err)
	}
	defer g.close()
	if err := g.exercise(ctx, instances, see); err != nil {
		return nil, fmt.Errorf("%s: %w", tr.name, err)
	}
	if tr.took == nil {
		tr.took = g.took
	}
	return g.run, nil
}

// look runs instances and keeps all verdicts.
func (t *tester) look(ctx context.Context, tr *trial, jobs int, instances []scenarios.Instance) (*bundle.Run, error) {
	if tr.verdicts == nil {
		tr.verdicts = verdicts{}
	}
	tr.ran = unique(slices.Concat(tr.ran, instances))
	return t.try(ctx, tr, jobs, instances, func(k key, v bundle.Verdict) bool {
		tr.put(k, v)
		return false
	})
}

// alone is the number of concurrent scenarios of a confirmation. What beside other gateways did not pass on the reference,
// did not detect a fault, or accused a gateway that should not be, may come from time: a pause of the machine, or too
// many scenarios at once. It is confirmed: the same scenario runs once more when all other gateways have ended, with
// nothing beside it. That verdict counts, whatever it is; there is no third try. A verdict that needs one depends on
// time even when nothing of the self-test takes any, and that is a defect of the scenario.
const alone = 1

// confirm runs the scenarios of the suspect verdicts again, alone, and others with them. It returns those verdicts,
// on one line each, that are suspect no more.
func (t *tester) confirm(ctx context.Context, tr *trial, suspects verdicts, with []scenarios.Instance) (once []string, err error) {
	if len(suspects) == 0 {
		return nil, nil
	}
	maps.DeleteFunc(tr.verdicts, func(k key, _ bundle.Verdict) bool { _, is := suspects[k]; return is })
	if _, err := t.look(ctx, tr, alone, unique(slices.Concat(tr.behind(suspects), with))); err != nil {
		return nil, err
	}
	for _, k := range slices.SortedFunc(maps.Keys(suspects), key.compare) {
		if !bad(tr.verdicts[k]) {
			once = append(once, words(k, suspects[k]))
		}
	}
	return once, nil
}

// behind returns the instances of a trial behind verdicts: all of them for verdicts of the whole run.
func (tr *trial) behind(suspects verdicts) []scenarios.Instance {
	if slices.ContainsFunc(slices.Collect(maps.Keys(suspects)), func(k key) bool { return k.scenario == "" }) {
		return tr.ran
	}
	return among(tr.ran, suspects)
}

// among returns the instances that verdicts are about.
func among(all []scenarios.Instance, about verdicts) []scenarios.Instance {
	named := map[key]bool{}
	for k := range about {
		named[key{scenario: k.scenario, axes: k.axes}] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(i scenarios.Instance) bool {
		return !named[key{scenario: i.Scenario.ID, axes: i.Axes}]
	})
}

// fault runs the scenarios that should detect a fault until the first does, a sample before all others; or everything, for
// blame.
func (t *tester) fault(ctx context.Context, f *zoo.Fault) (*trial, error) {
	tr := &trial{
		name: "fault " + f.ID, options: zoo.Options{Faults: []string{f.ID}}, like: t.baseline.like, verdicts: verdicts{},
		firm: func(k key, v bundle.Verdict) bool { return t.kills(f, k, v) },
	}
	if t.opts.Full {
		_, err := t.look(ctx, tr, t.opts.Jobs, t.all)
		return tr, err
	}
	sample, rest := t.candidates(f.Breaks)
	for _, instances := range [][]scenarios.Instance{sample, rest} {
		if err := t.hunt(ctx, f, tr, t.opts.Jobs, instances); err != nil {
			return nil, err
		}
	}
	return tr, nil
}

// kills reports whether a verdict detects a fault: a rule that it names was turned from pass to a breach.
func (t *tester) kills(f *zoo.Fault, k key, v bundle.Verdict) bool {
	return slices.Contains(f.Breaks, k.rule) && broken(v) && t.baseline.passed(k)
}

// hunt runs instances against a fault that is not detected yet, until one detects it. It keeps the verdicts on the
// rules that the fault names: others may come from the end of the hunt.
func (t *tester) hunt(ctx context.Context, f *zoo.Fault, tr *trial, jobs int, instances []scenarios.Instance) error {
	for k, v := range tr.verdicts {
		if t.kills(f, k, v) {
			return nil
		}
	}
	if len(instances) == 0 {
		return nil
	}
	_, err := t.try(ctx, tr, jobs, instances, func(k key, v bundle.Verdict) bool {
		if slices.Contains(f.Breaks, k.rule) {
			tr.put(k, v)
		}
		return t.kills(f, k, v)
	})
	return err
}

// concludeFault returns the result of a fault. What did not detect it is confirmed: the sample, and what was inconclusive.
// So is blame that does not follow from the fault's rules, beside the sample, which shows what there is to follow from.
func (t *tester) concludeFault(ctx context.Context, f *zoo.Fault, tr *trial) (bundle.FaultResult, error) {
	r := bundle.FaultResult{ID: f.ID, Title: f.Title, Breaks: f.Breaks, Source: f.Source, By: []string{}}
	sample, rest := t.candidates(f.Breaks)
	untold := maps.Clone(tr.verdicts)
	maps.DeleteFunc(untold, func(_ key, v bundle.Verdict) bool { return v.Conclusion != bundle.Inconclusive })
	if err := t.hunt(ctx, f, tr, alone, slices.Concat(sample, among(rest, untold))); err != nil {
		return r, err
	}
	if t.opts.Full {
		t.accuse(f, tr, &r)
		var err error
		if r.Once, err = t.confirm(ctx, tr, t.unattached(tr, &r), sample); err != nil {
			return r, err
		}
		t.accuse(f, tr, &r)
	}
	for _, k := range slices.SortedFunc(maps.Keys(tr.verdicts), key.compare) {
		switch v := tr.verdicts[k]; {
		case t.kills(f, k, v):
			if !r.Killed {
				r.Killed, r.Saw = true, v.Message
			}
			if k.scenario != "" && !slices.Contains(r.By, k.scenario) {
				r.By = append(r.By, k.scenario)
			}
		case !r.Killed && slices.Contains(f.Breaks, k.rule) && v.Message != "" && v.Conclusion != bundle.NotRun:
			r.Saw = fmt.Sprintf("%s: %s: %s", k.rule, v.Conclusion, v.Message)
		}
	}
	slices.Sort(r.By)
	return r, nil
}

// variant runs the pairs of a variant that are due: no verdict may turn from pass to a breach. Inconclusive verdicts and missing
// optional features do not count.
func (t *tester) variant(ctx context.Context, v *zoo.Variant) (*trial, error) {
	tr := &trial{name: "variant " + v.ID, options: zoo.Options{Variants: []string{v.ID}}}
	instances := t.all
	switch {
	case t.opts.Full:
	case t.opts.Turn != nil:
		instances = due(v.ID, t.all, *t.opts.Turn, variantShare)
	default:
		instances = due(v.ID, t.all, 0, 1)
	}
	_, err := t.look(ctx, tr, t.opts.Jobs, instances)
	return tr, err
}

// concludeVariant returns the result of a variant. Blame is confirmed.
func (t *tester) concludeVariant(ctx context.Context, v *zoo.Variant, tr *trial) (bundle.VariantResult, error) {
	once, err := t.confirm(ctx, tr, t.unfair(tr.verdicts), nil)
	left := t.unfair(tr.verdicts)
	return bundle.VariantResult{ID: v.ID, Clean: len(left) == 0, Failing: told(left), Once: once}, err
}

// unfair returns the breaches on a correct gateway.
func (t *tester) unfair(all verdicts) verdicts {
	out := maps.Clone(all)
	maps.DeleteFunc(out, func(k key, v bundle.Verdict) bool { return !bad(v) || !t.counts(k) })
	return out
}

// told returns verdicts, each on one line, in order.
func told(all verdicts) []string {
	out := []string{}
	for _, k := range slices.SortedFunc(maps.Keys(all), key.compare) {
		out = append(out, words(k, all[k]))
	}
	return out
}

// words formats a verdict on one line.
func words(k key, v bundle.Verdict) string {
	return fmt.Sprintf("%s [%s] %s: %s: %s", k.scenario, k.axes, k.rule, v.Conclusion, v.Message)
}
