package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/judge/outcome"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// storedBundle returns a judge and a sealed, passing bundle of one scenario on two sets of axes,
// with verdicts and result.
func storedBundle(t *testing.T) (*Judge, *bundle.Bundle) {
	t.Helper()
	cat, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	j := &Judge{Rules: cat}
	run := testRun()
	run.Ended, run.Tool = time.Unix(1, 0), bundle.Tool{Name: "assay", Version: "1"}
	one, two := observation(streamExchange("p")), observation(streamExchange("p"))
	two.Axes.Codec = "proto"
	b := &bundle.Bundle{
		Dir: "run", Run: run, Observations: []*bundle.Observation{one, two},
		Scripts:  map[string][]byte{"area.one": []byte(storedScript)},
		Manifest: &bundle.Manifest{Tool: run.Tool, Run: run.ID, Target: run.Target, Profile: run.Profile, Seed: run.Seed},
	}
	if b.Verdicts, b.Report, err = j.Bundle(b); err != nil || b.Report.Exit != 0 {
		t.Fatalf("%v, exit code %d", err, b.Report.Exit)
	}
	return j, b
}

func TestChangedListsWhatTwoJudgementsDoNotShare(t *testing.T) {
	v := func(scenario, rule string, c bundle.Conclusion, message string) bundle.Verdict {
		return bundle.Verdict{Scenario: scenario, Rule: rule, Conclusion: c, Message: message}
	}
	before := []bundle.Verdict{v("b", "same", bundle.Pass, "once"), v("b", "worse", bundle.Pass, ""), v("", "gone", bundle.Fail, "was broken")}
	after := []bundle.Verdict{v("b", "worse", bundle.Fail, "is broken"), v("b", "same", bundle.Pass, "in other words"), v("a", "new", bundle.Pass, "")}
	want := []bundle.Change{
		{Rule: "gone", Before: bundle.Fail, Message: "was broken"},
		{Scenario: "a", Rule: "new", After: bundle.Pass},
		{Scenario: "b", Rule: "worse", Before: bundle.Pass, After: bundle.Fail, Message: "is broken"},
	}
	if got := Changed(before, after); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	twice := []bundle.Verdict{v("b", "same", bundle.Pass, ""), v("b", "same", bundle.Pass, "")}
	turned := []bundle.Verdict{twice[0], v("b", "same", bundle.Fail, "")}
	if got := Changed(twice, turned); len(got) != 1 || got[0].After != bundle.Fail {
		t.Errorf("the second of two of a kind: %+v", got)
	}
	if got := Changed(before, before); got == nil || len(got) > 0 {
		t.Errorf("the same: %#v, want an empty list that is not nil", got)
	}
}

func TestVerifyHoldsVerdictsAndResultAgainstTheEvidence(t *testing.T) {
	self := bundle.Tool{Name: "assay", Version: "1"}
	result, manifest := []bundle.ProblemKind{bundle.ProblemResult}, []bundle.ProblemKind{bundle.ProblemManifest}
	for name, tc := range map[string]struct {
		by      bundle.Tool
		spoil   func(b *bundle.Bundle)
		kinds   []bundle.ProblemKind
		message string
	}{
		"nothing was changed": {self, func(*bundle.Bundle) {}, nil, ""},
		"a verdict was changed, and its result as well": {self, func(b *bundle.Bundle) {
			b.Verdicts[0].Conclusion = bundle.Fail
			b.Report = outcome.Report(b.Run, nil, b.Observations, b.Verdicts)
		}, []bundle.ProblemKind{bundle.ProblemVerdicts}, "1 of "},
		"a verdict was removed": {self, func(b *bundle.Bundle) {
			b.Verdicts = b.Verdicts[1:]
			b.Report = outcome.Report(b.Run, nil, b.Observations, b.Verdicts)
		}, []bundle.ProblemKind{bundle.ProblemVerdicts}, "differ from those that the evidence yields"},
		"a verdict has another text": {self, func(b *bundle.Bundle) { b.Verdicts[0].Seen = "splendid" },
			[]bundle.ProblemKind{bundle.ProblemVerdicts, bundle.ProblemResult}, "differ in their text"},
		"newer rules give another text": {bundle.Tool{Name: "assay", Version: "2"}, func(b *bundle.Bundle) {
			b.Verdicts[0].Seen = "as it was said then"
			b.Report = outcome.Report(b.Run, nil, b.Observations, b.Verdicts)
		}, nil, ""},
		"newer rules conclude otherwise": {bundle.Tool{Name: "assay", Version: "2"}, func(b *bundle.Bundle) {
			b.Verdicts[0].Conclusion = bundle.Advisory
			b.Report = outcome.Report(b.Run, nil, b.Observations, b.Verdicts)
		}, []bundle.ProblemKind{bundle.ProblemVerdicts}, "judged by assay 1, and this is 2"},
		"the result says another verdict": {self, func(b *bundle.Bundle) { b.Report.Verdict = bundle.Nonconformant },
			[]bundle.ProblemKind{bundle.ProblemResult}, "the result says nonconformant (exit 0), the verdicts say conformant (exit 0)"},
		"the result counts otherwise": {self, func(b *bundle.Bundle) { b.Report.Counts[bundle.Pass] = 7 },
			[]bundle.ProblemKind{bundle.ProblemResult}, "counts"},
		"a scenario of the result passed, and did not": {self, func(b *bundle.Bundle) { b.Report.Scenarios[1].Rules[0].Verdict = bundle.Fail },
			[]bundle.ProblemKind{bundle.ProblemResult}, "differs in area.one [connect/proto"},
		"a rule of the result is another":      {self, func(b *bundle.Bundle) { b.Report.Rules[0].Verdict = bundle.Fail }, result, "differs in the rule"},
		"a level of the result is another":     {self, func(b *bundle.Bundle) { b.Report.Rules[0].Level = "may" }, result, "differs in the rule"},
		"the result has another replay":        {self, func(b *bundle.Bundle) { b.Report.Scenarios[0].Replay = "rm -rf ." }, result, "differs in area.one"},
		"the result is of another run":         {self, func(b *bundle.Bundle) { b.Report.Run = "other" }, result, "another run"},
		"the result is of another program":     {self, func(b *bundle.Bundle) { b.Report.Tool.Version = "9" }, result, "another run, program"},
		"the result is of another target":      {self, func(b *bundle.Bundle) { b.Report.Target.URL = "http://other" }, result, "another run"},
		"the result is of another profile":     {self, func(b *bundle.Bundle) { b.Report.Profile = "other" }, result, "another run"},
		"the result was interrupted":           {self, func(b *bundle.Bundle) { b.Report.Interrupted = true }, result, "another run"},
		"how long it took is not compared":     {self, func(b *bundle.Bundle) { b.Report.DurationMS++ }, nil, ""},
		"the manifest is of another program":   {self, func(b *bundle.Bundle) { b.Manifest.Tool.Version = "9" }, manifest, "run.json in tool"},
		"the manifest is of another run":       {self, func(b *bundle.Bundle) { b.Manifest.Run = "other" }, manifest, "run.json in run"},
		"the manifest is of another target":    {self, func(b *bundle.Bundle) { b.Manifest.Target.URL = "http://other" }, manifest, "run.json in target"},
		"the manifest has profile and seed":    {self, func(b *bundle.Bundle) { b.Manifest.Profile, b.Manifest.Seed = "x", 99 }, manifest, "run.json in profile, seed"},
		"the manifest was interrupted":         {self, func(b *bundle.Bundle) { b.Manifest.Interrupted = true }, manifest, "run.json in interrupted"},
		"the manifest names what was kept":     {self, func(b *bundle.Bundle) { b.Manifest.Omitted = []bundle.OmittedObservation{{Scenario: "area.one"}} }, manifest, "not the 0 in"},
		"a reproducer showed it without a run": {self, func(b *bundle.Bundle) { b.Reproducers = []bundle.Reproducer{{Scenario: "area.one", Shown: true}} }, []bundle.ProblemKind{bundle.ProblemSchema}, "did not run"},
		"a reproducer ran and showed it":       {self, func(b *bundle.Bundle) { b.Reproducers = []bundle.Reproducer{{Ran: true, Shown: true}} }, nil, ""},
		"there is no result":                   {self, func(b *bundle.Bundle) { b.Report = nil }, []bundle.ProblemKind{bundle.ProblemResult}, "there is no result"},
		"a script is missing":                  {self, func(b *bundle.Bundle) { b.Scripts = nil }, []bundle.ProblemKind{bundle.ProblemUnreadable}, "script of area.one"},
	} {
		t.Run(name, func(t *testing.T) {
			j, b := storedBundle(t)
			tc.spoil(b)
			found := &bundle.Verification{OK: true}
			j.Verify(b, tc.by, found)
			var kinds []bundle.ProblemKind
			said := ""
			for _, p := range found.Problems {
				kinds, said = append(kinds, p.Kind), said+p.Message+"\n"
			}
			if !slices.Equal(kinds, tc.kinds) || !strings.Contains(said, tc.message) || found.OK != (tc.kinds == nil) {
				t.Errorf("found %v, OK %v; want %v with %q:\n%s", kinds, found.OK, tc.kinds, tc.message, said)
			}
		})
	}
}

// Evidence that was not kept makes all its rules inconclusive, including those that only the
// stored verdicts name. The bundle stays valid.
func TestEvidenceThatWasNotKeptIsInconclusive(t *testing.T) {
	j, b := storedBundle(t)
	gone := *b.Observations[0]
	gone.Iterations, gone.Omitted = nil, &bundle.Omission{Bytes: 9, Reason: "it was too long"}
	b.Observations[0] = &gone
	b.Manifest.Omitted = []bundle.OmittedObservation{{Scenario: gone.Scenario, Axes: gone.Axes, Bytes: 9}}
	verdicts, report, err := j.Bundle(b)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, v := range verdicts {
		if v.Axes != gone.Axes || v.Scenario == "" {
			continue
		}
		n++
		if v.Conclusion != bundle.Inconclusive || !strings.Contains(v.Message, "it was too long") {
			t.Errorf("%s is %s: %s", v.Rule, v.Conclusion, v.Message)
		}
	}
	if n < 3 || report.Exit != 5 || len(Changed(b.Verdicts, verdicts)) != n {
		t.Errorf("%d verdicts of it, exit code %d, %d changed", n, report.Exit, len(Changed(b.Verdicts, verdicts)))
	}
	found := &bundle.Verification{OK: true}
	j.Verify(b, b.Run.Tool, found)
	if !found.OK || found.Underivable != n || found.Verdicts == 0 {
		t.Errorf("%+v, want %d that could not be derived", found, n)
	}
}

// A run that was killed before it stored all scripts is judged without the missing ones.
func TestAKilledRunNeedsNoScriptOfWhatItHadNotBegun(t *testing.T) {
	j, b := storedBundle(t)
	b.Run.Planned = []bundle.Planned{{Scenario: "never.stored"}, {Scenario: "connect.unary.not-found"}}
	b.Unfinished = true
	_, report, err := j.Bundle(b)
	if err != nil || report.Exit != 130 || len(report.Scenarios) != 4 {
		t.Fatalf("%v, exit code %d, %d scenarios", err, report.Exit, len(report.Scenarios))
	}
	if report.Counts[bundle.NotRun] != 1 || report.Counts[bundle.Inconclusive] != 1 {
		t.Errorf("%v", report.Counts)
	}
	b.Unfinished = false
	if _, _, err := j.Bundle(b); err == nil {
		t.Error("a sealed bundle without a script was judged")
	}
}
