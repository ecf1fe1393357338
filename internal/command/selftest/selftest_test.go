package selftest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"assay/fakes/zoo"
	"assay/internal/record/bundle"
	"assay/internal/testkit"
	"assay/scenarios"
)

// Every fault is killed by a rule that it names, and in each turn a part of all scenarios finds every variant clean. What a
// fault breaks that does not follow from its rules is looked for in `selftest --full`, at night.
//
// It takes more than a minute of CPU time, more than any other test here, because every gateway runs.
func TestSuitesNoticeEveryFaultAndBlameNoVariant(t *testing.T) {
	if testing.Short() {
		t.Skip("runs against every gateway of the zoo")
	}
	t.Parallel()
	turn := TurnOf(t)
	r, err := Run(t.Context(), Options{Turn: &turn, Gateways: 16, Seed: 1, TimeScale: testkit.Slowdown})
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
	if r.Score != 1 {
		t.Errorf("score %v, want 1", r.Score)
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
	tester := &tester{baseline: &trial{verdicts: verdicts{}}}
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

// In any share consecutive turns a gateway runs each scenario once, and each in share times as many turns as a scenario has
// sets of axes once on each of them.
func TestConsecutiveTurnsRunEveryPairOnceOnEachSetOfAxes(t *testing.T) {
	tester, err := newTester(Options{})
	if err != nil {
		t.Fatal(err)
	}
	sets := map[*scenarios.Scenario]uint{}
	for _, i := range tester.all {
		sets[i.Scenario]++
	}
	most := slices.Max(slices.Collect(maps.Values(sets)))
	for _, share := range []uint{1, variantShare} {
		for _, first := range []uint{0, 5, 948, 20_000} {
			pairs, runs := map[*scenarios.Scenario]int{}, map[scenarios.Instance]uint{}
			for n := range share * most {
				for _, i := range due("gateway", tester.all, first+n, share) {
					if n < share {
						pairs[i.Scenario]++
					}
					if n < share*sets[i.Scenario] {
						runs[i]++
					}
				}
			}
			for s := range sets {
				if pairs[s] != 1 {
					t.Errorf("%s ran %d times in %d turns from %d, want once", s.ID, pairs[s], share, first)
				}
			}
			for _, i := range tester.all {
				if runs[i] != 1 {
					t.Errorf("%s ran %d times on %s in %d turns from %d, want once", i.Scenario.ID, runs[i], i.Axes, share*sets[i.Scenario], first)
				}
			}
		}
	}
}

// Two gateways run different parts in one turn, of about the same size.
func TestThePartsOfGatewaysDiffer(t *testing.T) {
	tester, err := newTester(Options{})
	if err != nil {
		t.Fatal(err)
	}
	one, two := due("one", tester.all, 0, variantShare), due("two", tester.all, 0, variantShare)
	common := slices.DeleteFunc(slices.Clone(one), func(i scenarios.Instance) bool { return !slices.Contains(two, i) })
	for _, part := range [][]scenarios.Instance{one, two} {
		if fair := len(tester.catalogue.Scenarios) / variantShare; len(part) < fair/2 || len(part) > 2*fair || 2*len(common) > len(part) {
			t.Errorf("a part has %d scenarios, %d of them in common, want about %d", len(part), len(common), fair)
		}
	}
}

// The shards of a self-test are disjoint, together all of it, and of the same size.
func TestShardsShareTheGateways(t *testing.T) {
	seen, all := map[string]int{}, len(zoo.Faults())+len(zoo.Variants())
	for n := range 7 {
		faults, variants, err := Shard{n + 1, 7}.share(zoo.Faults(), zoo.Variants())
		if size := len(faults) + len(variants); err != nil || size < all/7 || size > all/7+1 {
			t.Errorf("shard %d has %d of %d gateways, %v", n+1, size, all, err)
		}
		for _, f := range faults {
			seen["fault "+f.ID]++
		}
		for _, v := range variants {
			seen["variant "+v.ID]++
		}
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s is in %d shards", id, times)
		}
	}
	if len(seen) != all {
		t.Errorf("%d of %d gateways are in a shard", len(seen), all)
	}
	var empty *EmptyShardError
	if _, _, err := (Shard{2, 7}).share(zoo.Faults()[:1], nil); !errors.As(err, &empty) || empty.Gateways != 1 {
		t.Errorf("got %v, want an EmptyShardError for 1 gateway", err)
	}
}

// Idle scenarios are those of a whole self-test: a part of it cannot know them.
func TestOnlyAWholeSelftestKnowsWhichScenariosAreIdle(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want bool
	}{
		"everything":     {Options{Full: true}, true},
		"one shard":      {Options{Full: true, Shard: Shard{1, 7}}, false},
		"the only shard": {Options{Full: true, Shard: Shard{1, 1}}, true},
		"one fault":      {Options{Full: true, Faults: []string{"eos-dropped"}}, false},
		"not full":       {Options{}, false},
	} {
		r := &bundle.SelftestReport{Shard: c.o.Shard.String(), Faults: []bundle.FaultResult{{Killed: true, By: []string{"a.killer"}}}}
		(&tester{opts: c.o, catalogue: &scenarios.Catalogue{Scenarios: []*scenarios.Scenario{{ID: "a.killer"}, {ID: "a.idle"}}}}).conclude(r)
		if idle := slices.Equal(r.IdleScenarios, []string{"a.idle"}); idle != c.want || (r.IdleScenarios != nil) != c.want {
			t.Errorf("%s: idle scenarios are %v", name, r.IdleScenarios)
		}
	}
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
