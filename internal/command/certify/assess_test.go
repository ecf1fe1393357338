package certify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// enough returns evidence that meets every requirement of the level with-load.
func enough(t *testing.T) *Evidence {
	t.Helper()
	cat, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	p := &scenarios.Profile{
		ID: "tiny", Select: "process.signal.kill",
		Certification: &scenarios.Certification{Streams: 5, Duration: time.Second, Soak: 24 * time.Second, Window: 2 * time.Second},
	}
	e := &Evidence{
		Level: bundle.LevelWithLoad, Profile: p, Catalogue: cat,
		Build:   bundle.Build{Name: "assay", Version: "1", Catalogue: "sha256:c", Commit: "0123456789abcdef"},
		Conform: &bundle.Bundle{Run: &bundle.Run{Profile: "tiny", Select: p.Select, Repeat: Repeats, Ended: time.Now(), Tool: bundle.Tool{Name: "assay", Version: "1"}, Target: bundle.Target{URL: "http://127.0.0.1:1"}}},
		Report:  &bundle.Report{Verdict: bundle.Conformant},
		Load: &bundle.LoadReport{
			Verdict: bundle.LoadPass, Tool: bundle.Tool{Version: "1"}, Target: bundle.LoadTarget{URL: "http://127.0.0.1:1"},
			Plan: bundle.LoadPlan{DurationMS: 1000}, Streams: bundle.LoadStreams{OpenPeak: 5},
		},
		Soak: &bundle.SoakReport{
			Verdict: bundle.LoadPass, Tool: bundle.Tool{Version: "1"}, Target: bundle.LoadTarget{URL: "http://127.0.0.1:1"},
			Plan: bundle.SoakPlan{DurationMS: 24_000, WindowMS: 2000},
		},
		Faults: []string{"a"}, Variants: []string{"b"},
	}
	e.Selftest = &bundle.SelftestReport{Build: &e.Build, Faults: []bundle.FaultResult{{ID: "a", Killed: true}}, Variants: []bundle.VariantResult{{ID: "b", Clean: true}}}
	all, err := cat.Select(p.Select)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		e.Conform.Observations = append(e.Conform.Observations, &bundle.Observation{
			Scenario: i.Scenario.ID, Axes: i.Axes, Script: i.Scenario.Digest, Iterations: make([]bundle.Iteration, Repeats),
		})
		e.Verdicts = append(e.Verdicts, bundle.Verdict{Scenario: i.Scenario.ID, Axes: i.Axes, Rule: "process.end.signal-named", Level: "must", Conclusion: bundle.Pass})
	}
	e.Verdicts = append(e.Verdicts, bundle.Verdict{Rule: "process.end.exit-code", Level: "must", Conclusion: bundle.Pass})
	return e
}

func conclude(c bundle.Conclusion) func(*Evidence) {
	return func(e *Evidence) { e.Verdicts[0].Conclusion, e.Verdicts[0].Message = c, "seen" }
}

func TestEveryRequirementCanFail(t *testing.T) {
	failed := map[string]bool{}
	for name, c := range map[string]struct {
		change func(e *Evidence)
		want   string // the requirement that fails, "" for none
		unsure bool
	}{
		"enough":                    {func(*Evidence) {}, "", false},
		"no commit is known":        {func(e *Evidence) { e.Build.Commit = "" }, "", false},
		"a modified source":         {func(e *Evidence) { e.Build.Modified = true }, "build.committed", false},
		"a survivor":                {func(e *Evidence) { e.Selftest.Faults[0].Killed = false }, "selftest.passed", false},
		"a fault that was left out": {func(e *Evidence) { e.Selftest.Faults = nil }, "selftest.passed", false},
		"a blamed variant":          {func(e *Evidence) { e.Selftest.Variants[0].Clean = false }, "selftest.passed", false},
		"a self-test of another":    {func(e *Evidence) { e.Selftest.Build = &bundle.Build{Version: "2"} }, "selftest.passed", false},
		"no self-test":              {func(e *Evidence) { e.Selftest = nil }, "selftest.passed", true},
		"interrupted":               {func(e *Evidence) { e.Conform.Run.Interrupted = true }, "conform.whole", true},
		"unfinished":                {func(e *Evidence) { e.Conform.Unfinished = true }, "conform.whole", true},
		"a selection":               {func(e *Evidence) { e.Conform.Run.Select = "process.signal.*" }, "conform.whole", false},
		"a shard":                   {func(e *Evidence) { e.Conform.Run.Shard = "1/2" }, "conform.whole", false},
		"known failures":            {func(e *Evidence) { e.Conform.Run.KnownText = "x" }, "conform.whole", false},
		"rules of one's own":        {func(e *Evidence) { e.Conform.Run.RulesText = "x" }, "conform.whole", false},
		"one repeat":                {func(e *Evidence) { e.Conform.Run.Repeat = 0 }, "conform.whole", false},
		"a repeat too few":          {func(e *Evidence) { e.Conform.Observations[0].Iterations = nil }, "conform.whole", false},
		"a run too few":             {func(e *Evidence) { e.Conform.Observations = e.Conform.Observations[1:] }, "conform.whole", false},
		"a feature is absent":       {func(e *Evidence) { e.Conform.Observations[0].Skip = &bundle.Skip{Reason: bundle.SkipFeature} }, "", false},
		"slow ones were skipped":    {func(e *Evidence) { e.Conform.Observations[0].Skip = &bundle.Skip{Reason: bundle.SkipSlow} }, "conform.whole", true},
		"evidence was not kept":     {func(e *Evidence) { e.Conform.Observations[0].Omitted = &bundle.Omission{} }, "conform.whole", true},
		"one was interrupted":       {func(e *Evidence) { e.Conform.Observations[0].Interrupted = true }, "conform.whole", true},
		"another script":            {func(e *Evidence) { e.Conform.Observations[0].Script = "x" }, "conform.scripts", false},
		"a foreign scenario":        {func(e *Evidence) { e.Conform.Observations[0].Scenario = "mine.one" }, "conform.whole conform.scripts", false},
		"a broken rule":             {conclude(bundle.Fail), "conform.must", false},
		"nothing passed": {func(e *Evidence) {
			for i := range e.Verdicts {
				e.Verdicts[i].Conclusion = bundle.Unsupported
			}
		}, "conform.must", true},
		"an unexpected pass":   {conclude(bundle.UnexpectedPass), "conform.must", false},
		"inconclusive":         {conclude(bundle.Inconclusive), "conform.decided", true},
		"a defect":             {conclude(bundle.Error), "conform.decided", true},
		"not run":              {conclude(bundle.NotRun), "conform.decided", true},
		"a known failure":      {conclude(bundle.KnownFailure), "conform.decided", true},
		"a deviation":          {conclude(bundle.Deviation), "", false},
		"flaky":                {conclude(bundle.Flaky), "conform.steady", false},
		"an advisory":          {conclude(bundle.Advisory), "conform.should", false},
		"the load failed":      {func(e *Evidence) { e.Load.Verdict = bundle.LoadFail }, "load.passed", false},
		"the load is unsure":   {func(e *Evidence) { e.Load.Verdict = bundle.LoadInconclusive }, "load.passed", true},
		"no load":              {func(e *Evidence) { e.Load = nil }, "load.passed load.size", true},
		"few streams":          {func(e *Evidence) { e.Load.Streams.OpenPeak = 4 }, "load.size", false},
		"a short load":         {func(e *Evidence) { e.Load.Plan.DurationMS = 999 }, "load.size", false},
		"a profile without":    {func(e *Evidence) { e.Profile.Certification = nil }, "load.size soak.size", false},
		"the soak failed":      {func(e *Evidence) { e.Soak.Verdict = bundle.LoadFail }, "soak.passed", false},
		"the soak is unsure":   {func(e *Evidence) { e.Soak.Verdict = bundle.LoadInconclusive }, "soak.passed", true},
		"the soak was cut":     {func(e *Evidence) { e.Soak.Interrupted = true }, "soak.passed", true},
		"no soak":              {func(e *Evidence) { e.Soak = nil }, "soak.passed soak.size", true},
		"a short soak":         {func(e *Evidence) { e.Soak.Plan.DurationMS = 1 }, "soak.size", false},
		"wide windows":         {func(e *Evidence) { e.Soak.Plan.WindowMS = 4000 }, "soak.size", false},
		"a gap":                {func(e *Evidence) { e.Soak.Gaps = []bundle.SoakGap{{}} }, "soak.size", false},
		"another target":       {func(e *Evidence) { e.Load.Target.URL = "http://127.0.0.1:2" }, "target.one", false},
		"another target, soak": {func(e *Evidence) { e.Soak.Target.Embedded = true }, "target.one", false},
		"another build":        {func(e *Evidence) { e.Soak.Tool.Version = "2" }, "target.one", false},
		"another profile":      {func(e *Evidence) { e.Conform.Run.Profile = "e2b" }, "target.one", false},
	} {
		e := enough(t)
		c.change(e)
		all := Assess(e)
		var unmet []string
		unsure := true
		for _, r := range all {
			if !r.OK {
				unmet = append(unmet, r.ID)
				failed[r.ID] = true
				unsure = unsure && r.Unsure
			}
			if r.Message == "" {
				t.Errorf("%s: %s says nothing", name, r.ID)
			}
		}
		if got := strings.Join(unmet, " "); got != c.want || c.want != "" && unsure != c.unsure || Met(all) != (c.want == "") {
			t.Errorf("%s: %q (unsure %v), want %q (unsure %v)", name, got, unsure, c.want, c.unsure)
		}
	}
	for _, r := range requirements {
		if !failed[r.id] {
			t.Errorf("%s never fails", r.id)
		}
	}
}

func TestALevelAsksForItsOwn(t *testing.T) {
	e := enough(t)
	conclude(bundle.Advisory)(e)
	e.Load, e.Soak = nil, nil
	for level, want := range map[string]bool{bundle.LevelCore: true, bundle.LevelFull: false, bundle.LevelWithLoad: false} {
		e.Level = level
		if Met(Assess(e)) != want {
			t.Errorf("%s: %+v", level, Assess(e))
		}
	}
	e.Level = bundle.LevelCore
	if c := Certificate(e, bundle.Product{}, nil); !slices.Equal(c.Advisories, []string{"process.end.signal-named"}) || !slices.Equal(c.Rules, []string{"process.end.exit-code"}) {
		t.Errorf("advisories %q, rules %q", c.Advisories, c.Rules)
	}
	if Met(nil) {
		t.Error("nothing is enough")
	}
}

// While evidence is gathered, what is not there yet is no failure.
func TestPartialEvidence(t *testing.T) {
	e := enough(t)
	e.Load, e.Soak, e.Selftest, e.Partial = nil, nil, nil, true
	if all := Assess(e); !Met(all) {
		t.Errorf("%+v", all)
	}
}
