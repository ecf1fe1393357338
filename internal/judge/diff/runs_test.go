package diff

import (
	"slices"
	"testing"

	"assay/internal/record/bundle"
)

var (
	axesJSON  = bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "1.1", Compression: "identity"}
	axesProto = bundle.Axes{Protocol: "connect", Codec: "proto", HTTP: "1.1", Compression: "identity"}
)

// report returns a report with one scenario, a.b, on JSON, and the verdicts of its
// rules.
func report(rules ...bundle.RuleVerdict) *bundle.Report {
	r := &bundle.Report{Profile: "full", Tool: bundle.Tool{Name: "assay", Version: "1"}, Target: bundle.Target{URL: "http://127.0.0.1:1"}}
	add(r, "a.b", axesJSON, rules...)
	return r
}

func add(r *bundle.Report, id string, axes bundle.Axes, rules ...bundle.RuleVerdict) {
	worst := bundle.Pass
	for _, v := range rules {
		worst = bundle.Worst(worst, v.Verdict)
		r.Rules = append(r.Rules, bundle.RuleResult{ID: v.ID})
	}
	r.Scenarios = append(r.Scenarios, bundle.ScenarioResult{ID: id, Axes: axes, Verdict: worst, Rules: rules, Replay: "assay replay " + id})
}

func verdict(id string, c bundle.Conclusion) bundle.RuleVerdict {
	return bundle.RuleVerdict{ID: id, Level: "must", Verdict: c}
}

// kinds returns the names of the nonempty lists of a comparison.
func kinds(d *bundle.Diff) []string {
	var names []string
	for name, n := range map[string]int{
		"regressions": len(d.Regressions), "fixes": len(d.Fixes), "changes": len(d.Changes), "new": len(d.New), "vanished": len(d.Vanished),
		"new-rules": len(d.NewRules), "vanished-rules": len(d.VanishedRules), "seen": len(d.Seen), "features": len(d.Features), "context": len(d.Context),
	} {
		if n > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestVerdictsThatChange(t *testing.T) {
	for name, c := range map[string]struct {
		was, now bundle.Conclusion
		want     string
	}{
		"pass to fail is worse":                             {bundle.Pass, bundle.Fail, "regressions"},
		"pass to advisory is worse":                         {bundle.Pass, bundle.Advisory, "regressions"},
		"pass to inconclusive is worse":                     {bundle.Pass, bundle.Inconclusive, "regressions"},
		"pass to unsupported is worse":                      {bundle.Pass, bundle.Unsupported, "regressions"},
		"pass to an error is worse":                         {bundle.Pass, bundle.Error, "regressions"},
		"a known failure that is no longer listed is worse": {bundle.KnownFailure, bundle.Fail, "regressions"},
		"inconclusive to fail is worse":                     {bundle.Inconclusive, bundle.Fail, "regressions"},
		"pass to known failure was allowed":                 {bundle.Pass, bundle.KnownFailure, "changes"},
		"pass to deviation was allowed":                     {bundle.Pass, bundle.Deviation, "changes"},
		"pass to not-run was not tested":                    {bundle.Pass, bundle.NotRun, "changes"},
		"fail to known failure is not a fix":                {bundle.Fail, bundle.KnownFailure, "changes"},
		"fail to unsupported is not a fix":                  {bundle.Fail, bundle.Unsupported, "changes"},
		"fail to inconclusive is not a fix":                 {bundle.Fail, bundle.Inconclusive, "changes"},
		"fail to pass is a fix":                             {bundle.Fail, bundle.Pass, "fixes"},
		"fail to advisory is a fix":                         {bundle.Fail, bundle.Advisory, "fixes"},
		"a known failure that passes is a fix":              {bundle.KnownFailure, bundle.UnexpectedPass, "fixes"},
		"inconclusive to pass is a fix":                     {bundle.Inconclusive, bundle.Pass, "fixes"},
		"a first test is not a fix":                         {bundle.NotRun, bundle.Pass, "changes"},
		"a new feature is not a fix":                        {bundle.Unsupported, bundle.Pass, "changes"},
		"an unexpected pass that left the list changed":     {bundle.UnexpectedPass, bundle.Pass, "changes"},
		"a pass that became flaky is worse":                 {bundle.Pass, bundle.Flaky, "regressions"},
		"a flaky rule that always fails changed":            {bundle.Flaky, bundle.Fail, "changes"},
		"a flaky rule that holds is a fix":                  {bundle.Flaky, bundle.Pass, "fixes"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Runs(Run{Report: report(verdict("r.a.b", c.was))}, Run{Report: report(verdict("r.a.b", c.now))}, Options{})
			if got := kinds(d); !slices.Equal(got, []string{c.want}) || d.Equal {
				t.Errorf("got %v, equal %v", got, d.Equal)
			}
			if want := c.want == "regressions"; (d.Exit == 1) != want {
				t.Errorf("exit %d", d.Exit)
			}
		})
	}
}

func TestEqualRunsHaveNoDifferences(t *testing.T) {
	a, b := report(verdict("r.a.b", bundle.Pass)), report(verdict("r.a.b", bundle.Pass))
	a.Run, a.DurationMS, a.Scenarios[0].DurationMS, a.Target.Embedded = "one", 7, 3, true
	b.Run, b.DurationMS, b.Scenarios[0].DurationMS, b.Target.Embedded = "two", 9, 4, true
	b.Target.URL = "http://127.0.0.1:2"
	b.Scenarios[0].Rules[0].Counts = map[string]int{"killed": 7}
	// A standing rule that held and applied in only one of them is not reported.
	b.Scenarios[0].Rules = append(b.Scenarios[0].Rules, verdict("r.a.b2", bundle.Pass))
	d := Runs(Run{Report: a}, Run{Report: b}, Options{})
	if got := kinds(d); len(got) > 0 || !d.Equal || d.Exit != 0 {
		t.Errorf("got %v, equal %v, exit %d", got, d.Equal, d.Exit)
	}
}

func TestARunThatDidNotComeToItsEndIsWorse(t *testing.T) {
	done := func(exit int, interrupted bool) *bundle.Report {
		r := report(verdict("r.a.b", bundle.Pass))
		if interrupted {
			r = report(verdict("r.a.b", bundle.NotRun))
		}
		r.Exit, r.Interrupted = exit, interrupted
		return r
	}
	for name, c := range map[string]struct {
		a, b *bundle.Report
		want int
	}{
		"a run that was killed":             {done(0, false), done(130, true), 1},
		"a run without a verdict":           {done(0, false), done(5, false), 1},
		"a defect":                          {done(0, false), done(4, false), 1},
		"both were interrupted":             {done(130, true), done(130, true), 0},
		"the first alone was interrupted":   {done(130, true), done(0, false), 0},
		"neither came to a verdict":         {done(5, false), done(5, false), 0},
		"slow scenarios were not requested": {done(0, false), done(0, false), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if d := Runs(Run{Report: c.a}, Run{Report: c.b}, Options{}); d.Exit != c.want {
				t.Errorf("exit %d, want %d: %+v", d.Exit, c.want, d.Regressions)
			}
		})
	}
}

func TestPermutationsThatChangeAlikeAreOneChange(t *testing.T) {
	a, b := report(verdict("r.a.b", bundle.Pass)), report(verdict("r.a.b", bundle.Fail))
	add(a, "a.b", axesProto, verdict("r.a.b", bundle.Pass))
	add(b, "a.b", axesProto, verdict("r.a.b", bundle.Fail))
	d := Runs(Run{Report: a}, Run{Report: b}, Options{})
	if len(d.Regressions) != 1 || !slices.Equal(d.Regressions[0].Axes, []string{axesJSON.String(), axesProto.String()}) {
		t.Errorf("got %+v", d.Regressions)
	}
}

func TestARuleThatWasNotJudgedAndFailsNowIsWorse(t *testing.T) {
	d := Runs(Run{Report: report(verdict("r.a.b", bundle.Pass))}, Run{Report: report(verdict("r.a.b", bundle.Pass), verdict("r.a.c", bundle.Fail))}, Options{})
	if len(d.Regressions) != 1 || d.Regressions[0].Was != "" || !slices.Equal(d.NewRules, []string{"r.a.c"}) {
		t.Errorf("got %+v, new rules %v", d.Regressions, d.NewRules)
	}
}

func TestScenariosAnswersFeaturesAndContext(t *testing.T) {
	a, b := report(verdict("r.a.b", bundle.Pass)), report(verdict("r.a.b", bundle.Pass))
	add(a, "a.gone", axesJSON, verdict("r.a.gone", bundle.Fail))
	add(b, "a.new", axesJSON, verdict("r.a.new", bundle.Fail))
	a.Scenarios[0].Rules[0].Seen, b.Scenarios[0].Rules[0].Seen = "not_found", "invalid_argument"
	b.Profile, b.Tool.Version, b.Target.URL = "e2b", "2", "http://127.0.0.1:9"
	a.RunRules, b.RunRules = []bundle.RuleVerdict{verdict("profile.full.x", bundle.Pass)}, []bundle.RuleVerdict{verdict("profile.full.x", bundle.Fail)}
	feature := func(s bundle.FeatureState) *bundle.Run {
		return &bundle.Run{Features: map[string]bundle.Feature{"process.pty": {State: s}, "process.list": {State: bundle.FeaturePresent}}}
	}
	d := Runs(Run{Report: a, Info: feature(bundle.FeaturePresent)}, Run{Report: b, Info: feature(bundle.FeatureAbsent)}, Options{})
	if want := []string{"context", "features", "new", "new-rules", "regressions", "seen", "vanished", "vanished-rules"}; !slices.Equal(kinds(d), want) {
		t.Errorf("got %v, want %v", kinds(d), want)
	}
	if len(d.Context) != 3 || d.Context[0].What != "tool" || d.Context[1].What != "target" || d.Context[2].What != "profile" {
		t.Errorf("context %+v", d.Context)
	}
	if len(d.Regressions) != 1 || d.Regressions[0].Scenario != "" {
		t.Errorf("a new scenario that fails is not a regression, a rule of the run is: %+v", d.Regressions)
	}
	if len(d.Features) != 1 || d.Features[0].Was != bundle.FeaturePresent || d.Features[0].Now != bundle.FeatureAbsent {
		t.Errorf("features %+v", d.Features)
	}
}

func TestCausesAreComparedWhereBothRunsHaveThem(t *testing.T) {
	caused := func(rules ...string) *bundle.Report {
		r := report()
		r.Causes = []bundle.Cause{}
		for _, id := range rules {
			r.Causes = append(r.Causes, bundle.Cause{Rule: id})
		}
		return r
	}
	for name, c := range map[string]struct {
		was, now  *bundle.Report
		new, gone []string
	}{
		"one is new and one is gone":   {caused("a.a", "b.b"), caused("c.c", "b.b"), []string{"c.c"}, []string{"a.a"}},
		"the first cause of all":       {caused(), caused("c.c"), []string{"c.c"}, []string{}},
		"a report of an older version": {report(), caused("c.c"), []string{}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := Runs(Run{Report: c.was}, Run{Report: c.now}, Options{})
			if !slices.Equal(d.NewCauses, c.new) || !slices.Equal(d.GoneCauses, c.gone) || d.NewCauses == nil || d.GoneCauses == nil {
				t.Errorf("new %v, gone %v; want %v and %v", d.NewCauses, d.GoneCauses, c.new, c.gone)
			}
		})
	}
}
