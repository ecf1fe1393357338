package selftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"assay/fakes/zoo"
	"assay/internal/bundle"
	"assay/internal/testkit"
	"assay/scenarios"
)

// Every fault is killed by a rule that it names, and every variant is clean.
func TestSuitesNoticeEveryFaultAndBlameNoVariant(t *testing.T) {
	if testing.Short() {
		t.Skip("runs against every gateway of the zoo")
	}
	t.Parallel()
	r, err := Run(t.Context(), Options{Seed: 1, TimeScale: testkit.Slowdown})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Faults {
		if !f.Killed {
			t.Errorf("fault %s survived: %s", f.ID, f.Saw)
		}
	}
	for _, v := range r.Variants {
		if !v.Clean {
			t.Errorf("variant %s was blamed: %v", v.ID, v.Failing)
		}
	}
	if len(r.Faults) < 25 || len(r.Variants) < 10 {
		t.Errorf("%d faults and %d variants, want at least 25 and 10", len(r.Faults), len(r.Variants))
	}
	if r.Exit != 0 || r.Score != 1 {
		t.Errorf("exit code %d, score %v, want 0 and 1", r.Exit, r.Score)
	}
}

// All other failures of a gateway with a basic fault follow from the rules that the fault names. The faults
// are those with the most consequences; `selftest --full` runs every fault on every set of axes.
func TestWhatFailsBesideABasicFaultFollowsFromIt(t *testing.T) {
	if testing.Short() {
		t.Skip("runs most of the catalogue against several gateways")
	}
	t.Parallel()
	r, err := Run(t.Context(), Options{Blame: true, Seed: 1, TimeScale: testkit.Slowdown, Faults: []string{
		"eos-dropped", "error-as-200", "exit-code-zeroed", "h2-capital-names", "last-line-lost", "stdin-default-closed", "stream-errors-as-http", "tail-lost",
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Faults {
		if !f.Killed {
			t.Errorf("fault %s survived: %s", f.ID, f.Saw)
		}
		for _, complaint := range misled(&f) {
			t.Errorf("fault %s, which breaks %v: %s", f.ID, f.Breaks, complaint)
		}
	}
}

// misled returns complaints about the blame of a fault.
func misled(f *bundle.FaultResult) []string {
	var out []string
	for _, b := range f.Blame {
		if !b.Attached {
			out = append(out, fmt.Sprintf("%s (cause %s) fails in %v, first on %s: %s", b.Rule, b.Cause, b.Scenarios, b.Axes, b.Message))
		}
	}
	if len(f.Causes) > bundle.MostCauses {
		out = append(out, fmt.Sprintf("%d causes, at most %d are allowed: %v", len(f.Causes), bundle.MostCauses, f.Causes))
	}
	return out
}

// A failure of a variant that repeats when it runs alone is blame. Any other is recorded separately.
func TestAVariantIsBlamedByWhatBlamesItTwice(t *testing.T) {
	for _, c := range []struct {
		name, code string
		clean      bool
	}{
		{"right alone", "0", true},
		{"too strict", "3", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tester, err := newTester(Options{})
			if err != nil {
				t.Fatal(err)
			}
			script, err := scenarios.Parse("x.yaml", []byte("id: process.exit.x\ntitle: X\nrules: [process.end.exit-code]\nneeds: [process.start]\n"+
				"steps: [{start: {as: p, sh: exit 0, wait: end}}]\nexpect: {p: {end: {code: "+c.code+"}}}\n"))
			if err != nil {
				t.Fatal(err)
			}
			i := scenarios.Instance{Scenario: script, Axes: bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "1.1", Compression: "identity"}}
			tester.all, tester.baseline = []scenarios.Instance{i}, &baseline{verdicts: map[key]bundle.Verdict{}}
			v := bundle.VariantResult{ID: "no-date"}
			if err := tester.again(t.Context(), &v, map[key]string{{script.ID, i.Axes, "process.end.exit-code"}: "late"}); err != nil {
				t.Fatal(err)
			}
			if v.Clean != c.clean || len(v.Failing) > 0 == c.clean || slices.Equal(v.Once, []string{"late"}) != c.clean {
				t.Errorf("got %+v", v)
			}
		})
	}
}

// A scenario that is inconclusive because the driver was late runs again, a few times; any
// other does not.
func TestWhatCouldNotBeToldOfAFaultIsTriedAgain(t *testing.T) {
	one, two := scenarios.Instance{Scenario: &scenarios.Scenario{ID: "a.one"}}, scenarios.Instance{Scenario: &scenarios.Scenario{ID: "a.two"}}
	for name, c := range map[string]struct {
		untold int // inconclusive tries of the first instance
		kills  bool
		want   []string
	}{
		"noticed at once":      {0, true, []string{"a.one"}},
		"missed":               {0, false, []string{"a.one", "a.two"}},
		"late, and noticed":    {2, true, []string{"a.one", "a.two", "a.one", "a.one"}},
		"late, and missed":     {1, false, []string{"a.one", "a.two", "a.one"}},
		"late again and again": {99, true, []string{"a.one", "a.two", "a.one", "a.one", "a.one"}},
	} {
		t.Run(name, func(t *testing.T) {
			var tried []string
			untold := c.untold
			err := pursue([][]scenarios.Instance{{one}, {two}, nil}, func(list []scenarios.Instance) ([]scenarios.Instance, bool, error) {
				tried = append(tried, list[0].Scenario.ID)
				if list[0] != one {
					return nil, false, nil
				}
				untold--
				if untold >= 0 {
					return list, false, nil
				}
				return nil, c.kills, nil
			})
			if err != nil || !slices.Equal(tried, c.want) {
				t.Errorf("tried %v, want %v; %v", tried, c.want, err)
			}
		})
	}
}

// Faults name rules as strings; this test looks them up in the catalogue.
func TestFaultsNameRulesThatExist(t *testing.T) {
	tester, err := newTester(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tester.check(); err != nil {
		t.Error(err)
	}
}

func TestUnknownFaultIsRefused(t *testing.T) {
	_, err := Run(t.Context(), Options{Faults: []string{"nonesuch"}})
	var unknown *zoo.UnknownError
	if !errors.As(err, &unknown) || unknown.Kind != "fault" {
		t.Errorf("got %v, want a zoo.UnknownError for a fault", err)
	}
}

// The sample of a rule comes first, in a catalogue of three scripts with known verdicts.
func TestASampleIsTriedBeforeEverything(t *testing.T) {
	axes := func(codec, http string) bundle.Axes {
		return bundle.Axes{Protocol: "connect", Codec: codec, HTTP: http, Compression: "identity"}
	}
	proves := &scenarios.Scenario{ID: "a.proves", Rules: []string{"r"}}
	repeats := &scenarios.Scenario{ID: "a.repeats", Rules: []string{"r"}, Repeat: scenarios.Repeat{Times: 62}}
	judged := &scenarios.Scenario{ID: "a.judged"} // by a standing rule
	other := &scenarios.Scenario{ID: "a.other", Rules: []string{"other"}}
	tester := &tester{baseline: &baseline{verdicts: map[key]bundle.Verdict{}, took: map[scenarios.Instance]time.Duration{}}}
	for _, s := range []*scenarios.Scenario{judged, repeats, proves, other} {
		for _, a := range []bundle.Axes{axes("json", "1.1"), axes("proto", "1.1"), axes("json", "h2c")} {
			tester.all = append(tester.all, scenarios.Instance{Scenario: s, Axes: a})
			if s != other {
				tester.baseline.verdicts[key{s.ID, a, "r"}] = bundle.Verdict{Conclusion: bundle.Pass}
			}
		}
	}
	failed := scenarios.Instance{Scenario: proves, Axes: axes("proto", "1.1")}
	tester.baseline.verdicts[key{"a.proves", failed.Axes, "r"}] = bundle.Verdict{Conclusion: bundle.Fail}

	sample, rest := tester.candidates([]string{"r", "r"})
	if len(sample) < 3 || sample[0].Scenario != proves {
		t.Errorf("the sample is %v", names(sample))
	}
	seen := map[bundle.Axes]bool{}
	for _, i := range sample {
		seen[i.Axes] = true
	}
	if len(seen) != 3 {
		t.Errorf("the sample has %d sets of axes, want all 3: %v", len(seen), names(sample))
	}
	all := append(slices.Clone(sample), rest...)
	if slices.Contains(all, failed) || len(unique(all)) != len(all) || len(all) != 8 {
		t.Errorf("8 instances passed on the reference; got %v", names(all))
	}
	for _, i := range all {
		if i.Scenario == other {
			t.Errorf("%s has nothing to do with the rule", i.Scenario.ID)
		}
	}
}

func names(instances []scenarios.Instance) []string {
	var out []string
	for _, i := range instances {
		out = append(out, i.Scenario.ID+" "+i.Axes.String())
	}
	return out
}

// Every gateway runs each light scenario once, and in enough turns a scenario runs on all its axes. Other
// scenarios run on all their axes too, in share times as many turns.
func TestGatewaysTakeTurnsOnTheAxes(t *testing.T) {
	tester, err := newTester(Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &baseline{took: map[scenarios.Instance]time.Duration{}, bytes: map[scenarios.Instance]int64{}}
	const share = 3
	for _, kind := range []string{"", "stdio", "files", "control"} { // of three turns, one has the scenarios of other kinds
		own := func(i scenarios.Instance) bool { return kindOf(i.Scenario.ID) == kind }
		run := [2]int{}
		for turn := range share {
			for _, i := range b.once(tester.all, kind, turn, share) {
				if own(i) {
					run[0]++
				} else {
					run[1]++
				}
			}
		}
		n := len(scenariosOf(tester.all, own))
		if all := len(tester.catalogue.Scenarios); run != [2]int{share * n, all - n} {
			t.Errorf("%q: %v runs of its own kind and of others in %d turns, want %v", kind, run, share, [2]int{share * n, all - n})
		}
	}
	tester.all = slices.DeleteFunc(tester.all, func(i scenarios.Instance) bool { return kindOf(i.Scenario.ID) != "" })
	over := func(turns int) (ran int) {
		seen := map[scenarios.Instance]bool{}
		for turn := range turns {
			once := b.once(tester.all, "", turn, share)
			ran += len(once)
			for _, i := range once {
				seen[i] = true
			}
		}
		if len(seen) != len(tester.all) {
			t.Errorf("%d of %d instances were run in %d turns", len(seen), len(tester.all), turns)
		}
		return ran
	}
	each := len(scenariosOf(tester.all, func(scenarios.Instance) bool { return true }))
	if ran := over(12); ran != 12*each {
		t.Errorf("%d runs of light scenarios in 12 turns, want one of each of %d in each", ran, each)
	}
	for n, i := range tester.all {
		if n%2 == 0 {
			b.took[i] = 2 * costly
		} else {
			b.bytes[i] = heavy
		}
	}
	if ran := over(12 * share); ran != 12*each {
		t.Errorf("%d runs of scenarios that are not light in %d turns, want 12 of each of %d", ran, 12*share, each)
	}
}

// scenariosOf returns an instance of each scenario that fits.
func scenariosOf(all []scenarios.Instance, fits func(scenarios.Instance) bool) []scenarios.Instance {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(all), func(i scenarios.Instance) bool {
		again := seen[i.Scenario.ID]
		seen[i.Scenario.ID] = true
		return again || !fits(i)
	})
}

// The first error ends the self-test and cancels the other gateways.
func TestTheFirstErrorEndsIt(t *testing.T) {
	tester, err := newTester(Options{Gateways: 2})
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	ran := atomic.Int32{}
	err = tester.each(t.Context(), 100, func(ctx context.Context, n int) error {
		ran.Add(1)
		if n == 1 {
			return boom
		}
		if n == 0 {
			<-ctx.Done()
		}
		return ctx.Err()
	})
	if !errors.Is(err, boom) || ran.Load() > 4 {
		t.Errorf("got %v after %d runs", err, ran.Load())
	}
	if err := tester.each(t.Context(), 3, func(context.Context, int) error { return nil }); err != nil {
		t.Errorf("got %v", err)
	}
}
