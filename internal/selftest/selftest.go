package selftest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"assay/fakes"
	"assay/internal/bundle"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/target"
	"assay/internal/transport"
	"assay/scenarios"
)

// Options configure a self-test.
type Options struct {
	// Faults and Variants limit it to those ids; when both are empty all are run.
	Faults, Variants []string
	// Full runs the whole catalogue against every fault, not only the scenarios
	// that prove a rule which the fault breaks, so that idle scenarios can be named.
	Full    bool
	Jobs    int // per gateway; 0 is 8
	Seed    uint64
	Version string
	Log     *slog.Logger
	// Step is called before each gateway with its name; nil is fine.
	Step func(done, total int, name string)
}

// Run measures the suites. A fault that survives and a variant that is blamed
// are in the report, with exit code 1; errors are for what could not be run.
func Run(ctx context.Context, o Options) (*bundle.SelftestReport, error) {
	t, err := newTester(o)
	if err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	faults, variants, err := t.selected()
	if err != nil {
		return nil, err
	}
	total := 1 + len(faults) + len(variants)
	t.step(0, total, "reference")
	if t.baseline, err = t.gateway(ctx, fakes.Options{}, t.all); err != nil {
		return nil, err
	}
	r := &bundle.SelftestReport{Schema: bundle.SelftestSchema}
	for n, f := range faults {
		t.step(1+n, total, "fault "+f.ID)
		res, err := t.fault(ctx, f)
		if err != nil {
			return nil, err
		}
		r.Faults = append(r.Faults, res)
	}
	for n, v := range variants {
		t.step(1+len(faults)+n, total, "variant "+v.ID)
		res, err := t.variant(ctx, v)
		if err != nil {
			return nil, err
		}
		r.Variants = append(r.Variants, res)
	}
	t.step(total, total, "")
	t.conclude(r)
	return r, nil
}

// tester is a self-test under way.
type tester struct {
	opts      Options
	catalogue *scenarios.Catalogue
	profile   *scenarios.Profile
	all       []scenarios.Instance
	baseline  results
	killers   map[string]bool // scenarios that killed a fault
}

// results are the verdicts per scenario, axes and rule.
type results map[key]bundle.Verdict

type key struct {
	scenario string
	axes     bundle.Axes
	rule     string
}

func newTester(o Options) (*tester, error) {
	if o.Jobs <= 0 {
		o.Jobs = 8
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := &tester{opts: o, killers: map[string]bool{}}
	var err error
	if t.catalogue, err = scenarios.Load(); err != nil {
		return nil, err
	}
	if t.profile, err = scenarios.LoadProfile("full"); err != nil {
		return nil, err
	}
	t.all, err = t.catalogue.Select("")
	return t, err
}

// check refuses faults that name rules which do not exist: fakes knows rules
// as strings only.
func (t *tester) check() error {
	for _, f := range fakes.Faults() {
		for _, id := range f.Breaks {
			if t.catalogue.Rule(id) == nil {
				return fmt.Errorf("fault %s breaks the rule %q, which the catalogue does not have", f.ID, id)
			}
		}
	}
	return nil
}

// selected are the faults and variants to run.
func (t *tester) selected() ([]fakes.Fault, []fakes.Variant, error) {
	faults, variants := fakes.Faults(), fakes.Variants()
	if len(t.opts.Faults) == 0 && len(t.opts.Variants) == 0 {
		return faults, variants, nil
	}
	var names []string
	for _, f := range faults {
		names = append(names, f.ID)
	}
	if err := known("fault", t.opts.Faults, names); err != nil {
		return nil, nil, err
	}
	names = names[:0]
	for _, v := range variants {
		names = append(names, v.ID)
	}
	if err := known("variant", t.opts.Variants, names); err != nil {
		return nil, nil, err
	}
	faults = slices.DeleteFunc(faults, func(f fakes.Fault) bool { return !slices.Contains(t.opts.Faults, f.ID) })
	variants = slices.DeleteFunc(variants, func(v fakes.Variant) bool { return !slices.Contains(t.opts.Variants, v.ID) })
	return faults, variants, nil
}

// UnknownError names a fault or variant that does not exist: a usage error.
type UnknownError struct {
	Kind, Name string
	Known      []string
}

// Error lists what there is.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("no %s %q; there are: %v", e.Kind, e.Name, e.Known)
}

func known(kind string, want, have []string) error {
	for _, w := range want {
		if !slices.Contains(have, w) {
			return &UnknownError{Kind: kind, Name: w, Known: have}
		}
	}
	return nil
}

// fault runs what should notice f.
func (t *tester) fault(ctx context.Context, f fakes.Fault) (bundle.FaultResult, error) {
	res := bundle.FaultResult{ID: f.ID, Title: f.Title, Breaks: f.Breaks, Source: f.Source}
	run := t.all
	if !t.opts.Full {
		run = t.proving(f.Breaks)
	}
	got, err := t.gateway(ctx, fakes.Options{Faults: []string{f.ID}}, run)
	if err != nil {
		return res, fmt.Errorf("fault %s: %w", f.ID, err)
	}
	for k, v := range got {
		if !slices.Contains(f.Breaks, k.rule) || t.baseline[k].Conclusion != bundle.Pass {
			continue
		}
		if v.Conclusion == bundle.Fail || v.Conclusion == bundle.Advisory {
			res.Killed = true
			t.killers[k.scenario] = true
			if !slices.Contains(res.By, k.scenario) {
				res.By = append(res.By, k.scenario)
			}
		}
	}
	slices.Sort(res.By)
	return res, nil
}

// proving are the instances that prove one of the rules; all of them when a
// rule is only a standing one.
func (t *tester) proving(rules []string) []scenarios.Instance {
	var out []scenarios.Instance
	for _, i := range t.all {
		if slices.ContainsFunc(i.Scenario.Rules, func(r string) bool { return slices.Contains(rules, r) }) {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return t.all
	}
	return out
}

// variant runs everything: nothing may turn from pass.
func (t *tester) variant(ctx context.Context, v fakes.Variant) (bundle.VariantResult, error) {
	res := bundle.VariantResult{ID: v.ID, Clean: true, Failing: []string{}}
	got, err := t.gateway(ctx, fakes.Options{Variants: []string{v.ID}}, t.all)
	if err != nil {
		return res, fmt.Errorf("variant %s: %w", v.ID, err)
	}
	for k, was := range t.baseline {
		now, ok := got[k]
		if was.Conclusion != bundle.Pass || ok && now.Conclusion == bundle.Pass {
			continue
		}
		if !ok {
			continue // a standing rule that had nothing to apply to
		}
		res.Clean = false
		res.Failing = append(res.Failing, fmt.Sprintf("%s [%s] %s: %s: %s", k.scenario, k.axes, k.rule, now.Conclusion, now.Message))
	}
	slices.Sort(res.Failing)
	return res, nil
}

// gateway runs instances against one gateway and judges them.
func (t *tester) gateway(ctx context.Context, fo fakes.Options, instances []scenarios.Instance) (results, error) {
	fo.Log, fo.Seed = t.opts.Log, t.opts.Seed
	gw, err := fakes.Start(ctx, fo)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := gw.Close(); err != nil {
			t.opts.Log.Warn("closing a gateway", "error", err)
		}
	}()
	tgt, err := target.New(target.Options{
		URL: gw.URL(), Paths: t.profile.Paths, Shell: t.profile.Shell,
		UserAgent: "assay/" + t.opts.Version, Embedded: true,
	})
	if err != nil {
		return nil, err
	}
	clock := transport.NewClock()
	cal, err := tgt.Calibrate(ctx, clock)
	if err != nil {
		return nil, err
	}
	features, err := tgt.Probe(ctx, clock, cal)
	if err != nil {
		return nil, err
	}
	run := &bundle.Run{
		Schema: bundle.RunSchema, ID: fmt.Sprintf("selftest-%d", t.opts.Seed), Started: time.Now(),
		Target: tgt.Identity(), Profile: t.profile.ID, Seed: t.opts.Seed, Jobs: t.opts.Jobs,
		Calibration: cal, Features: features,
	}
	eng := engine.Start(ctx, engine.Options{
		Target: tgt, Run: run, Clock: clock, Profile: t.profile, Log: t.opts.Log,
	}, instances)
	<-eng.Done()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return t.judge(run, eng, instances), nil
}

func (t *tester) judge(run *bundle.Run, eng *engine.Engine, instances []scenarios.Instance) results {
	j := &judge.Judge{Rules: t.catalogue, Profile: t.profile}
	out := results{}
	for _, i := range instances {
		for _, v := range j.Scenario(i.Scenario, run, eng.Wait(i)) {
			out[key{i.Scenario.ID, i.Axes, v.Rule}] = v
		}
	}
	return out
}

// conclude sums up.
func (t *tester) conclude(r *bundle.SelftestReport) {
	r.Survivors = []string{}
	killed := 0
	for _, f := range r.Faults {
		if f.Killed {
			killed++
		} else {
			r.Survivors = append(r.Survivors, f.ID)
		}
	}
	if len(r.Faults) > 0 {
		r.Score = float64(killed) / float64(len(r.Faults))
	}
	blamed := slices.ContainsFunc(r.Variants, func(v bundle.VariantResult) bool { return !v.Clean })
	if len(r.Survivors) > 0 || blamed {
		r.Exit = 1
	}
	if t.opts.Full {
		r.IdleScenarios = []string{}
		for _, s := range t.catalogue.Scenarios {
			if !t.killers[s.ID] {
				r.IdleScenarios = append(r.IdleScenarios, s.ID)
			}
		}
	}
}

func (t *tester) step(done, total int, name string) {
	if t.opts.Step != nil {
		t.opts.Step(done, total, name)
	}
}
