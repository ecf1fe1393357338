package selftest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"assay/fakes/zoo"
	"assay/internal/base/crash"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// Options configure a self-test.
type Options struct {
	// Faults and Variants limit the self-test to these ids; if both are empty, all run.
	Faults, Variants []string
	// Profile limits the self-test to the faults that break a rule of the scenarios of a profile, as LoadProfile takes it,
	// to the scenarios that prove a rule which these faults break, and to those of the profile. "" is everything.
	Profile string
	// Full runs the whole catalogue, on all axes, against every fault and variant, so that the
	// report names all scenarios that detect a fault, everything else that a fault breaks, and the idle scenarios.
	// Otherwise a fault runs until the first scenario detects it, and a variant runs each scenario on one set of axes.
	Full bool
	// Turn limits the variants to one part of their scenarios. The parts of consecutive turns differ, and together they are
	// everything: see due. Full overrides it; nil is neither.
	Turn *uint
	// Shard limits the self-test to one of several parts of the faults and variants.
	Shard Shard
	// Jobs is the number of concurrent scenarios per gateway; 0 is 8.
	Jobs int
	// Gateways is the number of gateways tested at the same time; 0 is 8. Waiting costs nothing,
	// and most scenarios that detect a fault wait for something that never arrives.
	Gateways int
	// TimeScale multiplies every deadline, for a slow program such as one under the race detector; 0 is 1.
	TimeScale float64
	Seed      uint64
	Version   string
	// Build identifies the program in the report; nil leaves it out.
	Build *bundle.Build
	Log   *slog.Logger
	// Step is called before each gateway with its name, and at the end with an empty one; one call at
	// a time. It may be nil.
	Step func(done, total int, name string)
}

// Shard is part Index, from 1, of Of: every so many faults and variants. The zero value is all of them.
type Shard struct{ Index, Of int }

// String returns for example "2/7", and "" for all of them.
func (s Shard) String() string {
	if s.Of <= 1 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// EmptyShardError is a shard without any fault or variant.
type EmptyShardError struct{ Gateways int }

// Error says how many there are.
func (e *EmptyShardError) Error() string {
	return fmt.Sprintf("the part is empty: there are %d faults and variants to share", e.Gateways)
}

// Run runs the self-test. The report lists surviving and misblamed faults and blamed variants, with exit
// code 1; an error means that the self-test could not run.
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
	if faults, variants, err = o.Shard.share(faults, variants); err != nil {
		return nil, err
	}
	t.total = 1 + len(faults) + len(variants)
	t.step("reference")
	if t.baseline, err = t.reference(ctx); err != nil {
		return nil, err
	}
	trials := make([]*trial, len(faults)+len(variants))
	err = t.each(ctx, len(trials), func(ctx context.Context, n int) (err error) {
		if n < len(faults) {
			t.step("fault " + faults[n].ID)
			trials[n], err = t.fault(ctx, &faults[n])
			return err
		}
		v := &variants[n-len(faults)]
		t.step("variant " + v.ID)
		trials[n], err = t.variant(ctx, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &bundle.SelftestReport{
		Schema:   bundle.SelftestSchema,
		Build:    o.Build,
		Profile:  o.Profile,
		Shard:    o.Shard.String(),
		Faults:   make([]bundle.FaultResult, len(faults)),
		Variants: make([]bundle.VariantResult, len(variants)),
	}
	for n := range faults {
		if r.Faults[n], err = t.concludeFault(ctx, &faults[n], trials[n]); err != nil {
			return nil, err
		}
	}
	for n := range variants {
		if r.Variants[n], err = t.concludeVariant(ctx, &variants[n], trials[len(faults)+n]); err != nil {
			return nil, err
		}
	}
	t.step("")
	t.conclude(r)
	return r, nil
}

// tester is a self-test in progress.
type tester struct {
	opts      Options
	catalogue *scenarios.Catalogue
	profile   *scenarios.Profile
	all       []scenarios.Instance
	ofProfile []scenarios.Instance // nil: all
	baseline  *trial               // of the reference gateway

	mu          sync.Mutex // guards the fields below
	done, total int
}

func newTester(o Options) (*tester, error) {
	if o.Jobs <= 0 {
		o.Jobs = 8
	}
	if o.Gateways <= 0 {
		o.Gateways = 8
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := &tester{opts: o}
	var err error
	if t.catalogue, err = scenarios.Load(); err != nil {
		return nil, err
	}
	if t.profile, err = scenarios.LoadProfile("full"); err != nil {
		return nil, err
	}
	selection := ""
	if o.Profile != "" {
		p, err := scenarios.LoadProfile(o.Profile)
		if err != nil {
			return nil, err
		}
		selection = p.Select
	}
	if t.all, err = t.catalogue.Select(selection); err != nil || selection == "" {
		return t, err
	}
	return t, t.widen()
}

// widen adds the scenarios that prove a rule which a fault of the profile breaks: one rule holds on several surfaces, and
// the fault may be on one that the profile leaves out.
func (t *tester) widen() error {
	t.ofProfile = slices.Clone(t.all)
	wanted := map[string]bool{}
	for _, f := range zoo.Faults() {
		if t.touches(f) {
			for _, rule := range f.Breaks {
				wanted[rule] = true
			}
		}
	}
	everything, err := t.catalogue.Select("")
	for _, i := range everything {
		if !slices.Contains(t.all, i) && slices.ContainsFunc(i.Scenario.Rules, func(rule string) bool { return wanted[rule] }) {
			t.all = append(t.all, i)
		}
	}
	return err
}

// touches reports whether a scenario of the profile proves a rule that a fault breaks.
func (t *tester) touches(f zoo.Fault) bool {
	return t.ofProfile == nil || slices.ContainsFunc(t.ofProfile, func(i scenarios.Instance) bool {
		return slices.ContainsFunc(i.Scenario.Rules, func(rule string) bool { return slices.Contains(f.Breaks, rule) })
	})
}

// check rejects faults that name nonexistent rules: package fakes knows rules only as strings.
func (t *tester) check() error {
	for _, f := range zoo.Faults() {
		for _, id := range f.Breaks {
			if t.catalogue.Rule(id) == nil {
				return fmt.Errorf("fault %s breaks the rule %q, which is not in the catalogue", f.ID, id)
			}
		}
	}
	return nil
}

// each runs n gateways, several at a time, and returns the first error.
func (t *tester) each(ctx context.Context, n int, run func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var workers crash.Group
	for range min(t.opts.Gateways, n) {
		workers.Go(func() {
			for i := range next {
				if err := run(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
feed:
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// step reports the start of the next gateway.
func (t *tester) step(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.opts.Step != nil {
		t.opts.Step(t.done, t.total, name)
	}
	t.done++
}

// conclude sets the score and the exit code.
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
	misblamed := slices.ContainsFunc(r.Faults, func(f bundle.FaultResult) bool { return f.Misblamed() })
	if len(r.Survivors) > 0 || blamed || misblamed {
		r.Exit = 1
	}
	o := t.opts
	if !o.Full || o.Profile != "" || len(o.Faults)+len(o.Variants) > 0 || r.Shard != "" {
		return
	}
	r.IdleScenarios = []string{}
	for _, s := range t.catalogue.Scenarios {
		if !slices.ContainsFunc(r.Faults, func(f bundle.FaultResult) bool { return slices.Contains(f.By, s.ID) }) {
			r.IdleScenarios = append(r.IdleScenarios, s.ID)
		}
	}
}
