package known

import (
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
)

var staleAxes = bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "1.1", Compression: "identity"}

func staleRun() *bundle.Run {
	return &bundle.Run{
		Started: time.Date(2027, 3, 31, 23, 0, 0, 0, time.UTC),
		Planned: []bundle.Planned{{Scenario: "a.one", Axes: staleAxes}, {Scenario: "a.two", Axes: staleAxes}},
	}
}

func TestAGlobOfWhichNothingFailsAnyMoreIsStale(t *testing.T) {
	for name, c := range map[string]struct {
		entry    string
		one, two bundle.Conclusion
		change   func(*bundle.Run, []*bundle.Observation)
		stale    bool
	}{
		"all of it passes":                     {"pattern: a.*", bundle.Pass, bundle.Pass, nil, true},
		"one of it fails":                      {"pattern: a.*", bundle.Pass, bundle.KnownFailure, nil, false},
		"one of it is flaky":                   {"pattern: a.*", bundle.Pass, bundle.Flaky, nil, false},
		"one of it is unsupported":             {"pattern: a.*", bundle.Pass, bundle.Unsupported, nil, true},
		"all of it is unsupported":             {"pattern: a.*", bundle.Unsupported, bundle.Unsupported, nil, false},
		"one of it is inconclusive":            {"pattern: a.*", bundle.Pass, bundle.Inconclusive, nil, false},
		"an advisory does not fail":            {"pattern: a.*", bundle.Pass, bundle.Advisory, nil, true},
		"an entry of a rule that holds":        {"pattern: a.*, rule: r.one.two", bundle.Pass, bundle.Pass, nil, true},
		"a failure that comes and goes":        {"pattern: a.*, flaky: true", bundle.Pass, bundle.Pass, nil, false},
		"an id is an unexpected pass instead":  {"pattern: a.one", bundle.Pass, bundle.Pass, nil, false},
		"a scenario of it is in another shard": {"pattern: a.*", bundle.Pass, bundle.Pass, func(r *bundle.Run, _ []*bundle.Observation) { r.LeftOut = []bundle.Planned{{Scenario: "a.three"}} }, false},
		"a scenario of it was not run": {"pattern: a.*", bundle.Pass, bundle.Pass, func(r *bundle.Run, _ []*bundle.Observation) {
			r.Planned = append(r.Planned, bundle.Planned{Scenario: "a.three"})
		}, false},
		"what was left out is not of it":           {"pattern: a.*", bundle.Pass, bundle.Pass, func(r *bundle.Run, _ []*bundle.Observation) { r.LeftOut = []bundle.Planned{{Scenario: "b.three"}} }, true},
		"a scenario of it was too slow to be run":  {"pattern: a.*", bundle.Pass, bundle.NotRun, func(_ *bundle.Run, o []*bundle.Observation) { o[1].Skip = &bundle.Skip{Reason: bundle.SkipSlow} }, false},
		"the target lacks a feature for one of it": {"pattern: a.*", bundle.Pass, bundle.Unsupported, func(_ *bundle.Run, o []*bundle.Observation) { o[1].Skip = &bundle.Skip{Reason: bundle.SkipFeature} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			run := staleRun()
			obs := []*bundle.Observation{{Scenario: "a.one", Axes: staleAxes}, {Scenario: "a.two", Axes: staleAxes}}
			if c.change != nil {
				c.change(run, obs)
			}
			verdicts := []bundle.Verdict{
				{Scenario: "a.one", Axes: staleAxes, Rule: "r.one.two", Conclusion: c.one},
				{Scenario: "a.two", Axes: staleAxes, Rule: "r.one.two", Conclusion: c.two},
			}
			got := List(knownList(t, "- {"+c.entry+", "+knownRest+"}\n"), run, obs, verdicts)
			if (len(got) == 1) != c.stale {
				t.Fatalf("got %+v, want stale %v", got, c.stale)
			}
			if c.stale && (got[0].Rule != ruleKnownUnmatched || got[0].Conclusion != bundle.Fail || !strings.Contains(got[0].Message, "known.yaml:1: nothing that pattern a.*")) {
				t.Errorf("got %+v", got[0])
			}
		})
	}
}

func TestAGlobDemandsNothingOfWhatPasses(t *testing.T) {
	run := staleRun()
	for entry, want := range map[string]bundle.Conclusion{
		"pattern: a.*": bundle.Pass, "pattern: 'a.[o]ne'": bundle.Pass, "pattern: a.one, flaky: true": bundle.Pass, "pattern: a.one": bundle.UnexpectedPass,
	} {
		verdicts := []bundle.Verdict{{Scenario: "a.one", Axes: staleAxes, Rule: "r.one.two", Conclusion: bundle.Pass}}
		Apply(knownList(t, "- {"+entry+", "+knownRest+"}\n"), []string{"r.one.two"}, run, &bundle.Observation{Scenario: "a.one", Axes: staleAxes}, verdicts)
		if verdicts[0].Conclusion != want {
			t.Errorf("%s: %s, want %s", entry, verdicts[0].Conclusion, want)
		}
	}
}

func TestAFlakyRuleIsExcusedOnlyByItsName(t *testing.T) {
	run := staleRun()
	for entry, want := range map[string]bundle.Conclusion{
		"pattern: a.one":                           bundle.Flaky,
		"pattern: a.*":                             bundle.Flaky,
		"pattern: a.one, rule: r.one.two":          bundle.KnownFailure,
		"pattern: a.*, rule: r.one.two":            bundle.KnownFailure,
		"pattern: a.one, rule: r.one.three":        bundle.Flaky,
		"pattern: a.one, flaky: true":              bundle.KnownFailure,
		"pattern: a.*, flaky: false":               bundle.Flaky,
		"pattern: a.one, axes: proto, flaky: true": bundle.Flaky,
	} {
		verdicts := []bundle.Verdict{
			{Scenario: "a.one", Axes: staleAxes, Rule: "r.one.two", Conclusion: bundle.Flaky, Message: "failed in 1 of 3 repeats"},
			{Scenario: "a.one", Axes: staleAxes, Rule: "r.pass.ing", Conclusion: bundle.Pass},
		}
		Apply(knownList(t, "- {"+entry+", "+knownRest+"}\n"), []string{"r.one.two"}, run, &bundle.Observation{Scenario: "a.one", Axes: staleAxes}, verdicts)
		if verdicts[0].Conclusion != want || verdicts[1].Conclusion != bundle.Pass {
			t.Errorf("%s: %s and %s, want %s", entry, verdicts[0].Conclusion, verdicts[1].Conclusion, want)
		}
	}
}
