package outcome

import (
	"slices"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

func verdictOf(scenario, rule string, c bundle.Conclusion) bundle.Verdict {
	return bundle.Verdict{Scenario: scenario, Rule: rule, Level: "must", Conclusion: c}
}

func TestExitCodes(t *testing.T) {
	pass := verdictOf("a.one", "r.a.b", bundle.Pass)
	runFail := bundle.Verdict{Rule: "profile.x.http.1", Level: "must", Conclusion: bundle.Fail}
	cases := []struct {
		name        string
		verdicts    []bundle.Verdict
		interrupted bool
		exit        int
		verdict     string
	}{
		{"everything passes", []bundle.Verdict{pass}, false, 0, bundle.Conformant},
		{"an advisory does not fail", []bundle.Verdict{pass, verdictOf("a.two", "r.a.b", bundle.Advisory)}, false, 0, bundle.Conformant},
		{"a deviation and a known failure do not fail", []bundle.Verdict{verdictOf("a.two", "r.a.b", bundle.Deviation), verdictOf("a.three", "r.a.b", bundle.KnownFailure)}, false, 0, bundle.Conformant},
		{"what is unsupported beside a pass does not count", []bundle.Verdict{pass, verdictOf("a.two", "r.a.b", bundle.Unsupported)}, false, 0, bundle.Conformant},
		{"a failure", []bundle.Verdict{pass, verdictOf("a.one", "r.a.c", bundle.Fail)}, false, 1, bundle.Nonconformant},
		{"an unexpected pass", []bundle.Verdict{verdictOf("a.one", "r.a.c", bundle.UnexpectedPass)}, false, 1, bundle.Nonconformant},
		{"a required feature that is absent", []bundle.Verdict{pass, runFail}, false, 1, bundle.Nonconformant},
		{"a failure beside what is inconclusive", []bundle.Verdict{verdictOf("a.one", "r.a.b", bundle.Inconclusive), verdictOf("a.two", "r.a.b", bundle.Fail)}, false, 1, bundle.Nonconformant},
		{"a defect beside a failure", []bundle.Verdict{verdictOf("a.one", "r.a.b", bundle.Error), verdictOf("a.one", "r.a.c", bundle.Fail)}, false, 4, bundle.Nonconformant},
		{"a defect", []bundle.Verdict{verdictOf("a.one", "r.a.b", bundle.Error), pass}, false, 4, bundle.RunInconclusive},
		{"nothing ran", nil, false, 5, bundle.RunInconclusive},
		{"everything is unsupported", []bundle.Verdict{verdictOf("a.one", "r.a.b", bundle.Unsupported), verdictOf("a.two", "r.a.b", bundle.NotRun)}, false, 5, bundle.RunInconclusive},
		{"something is inconclusive", []bundle.Verdict{pass, verdictOf("a.two", "r.a.b", bundle.Inconclusive)}, false, 5, bundle.RunInconclusive},
		{"interrupted comes first", []bundle.Verdict{verdictOf("a.one", "r.a.b", bundle.Error), verdictOf("a.one", "r.a.c", bundle.Fail)}, true, 130, bundle.Nonconformant},
		{"interrupted without a failure", []bundle.Verdict{pass}, true, 130, bundle.RunInconclusive},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run := testRun()
			run.Interrupted = c.interrupted
			r := Report(run, nil, nil, c.verdicts)
			if r.Exit != c.exit || r.Verdict != c.verdict {
				t.Errorf("exit %d, %s; want %d, %s", r.Exit, r.Verdict, c.exit, c.verdict)
			}
		})
	}
}

func TestReport(t *testing.T) {
	run := testRun()
	run.Profile, run.Started = "e2b", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	run.Ended = run.Started.Add(2500 * time.Millisecond)
	cat := &scenarios.Catalogue{
		Rules: []*scenarios.Rule{{ID: "r.a.b", Level: "must", Source: "Connect", Section: "EndStream", Ref: "C118", Text: "It ends."}},
		Scenarios: []*scenarios.Scenario{
			{ID: "a.one", Title: "One"}, {ID: "b.two", Title: "Two"},
		},
	}
	json := bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "1.1", Compression: "identity"}
	proto := json
	proto.Codec = "proto"
	obs := []*bundle.Observation{
		{Scenario: "b.two", Axes: json, Started: bundle.Stamp{T: 1e9}, Ended: bundle.Stamp{T: 3e9}},
		{Scenario: "a.one", Axes: proto}, {Scenario: "a.one", Axes: json}, nil,
	}
	verdicts := []bundle.Verdict{
		{Scenario: "b.two", Axes: json, Rule: "r.a.b", Level: "must", Conclusion: bundle.Pass},
		{Scenario: "b.two", Axes: json, Rule: "a.a.a", Level: "may", Conclusion: bundle.Advisory, Message: "m"},
		{Scenario: "a.one", Axes: proto, Rule: "r.a.b", Level: "must", Conclusion: bundle.Fail, Message: "why", Seen: "s"},
		{Scenario: "a.one", Axes: json, Rule: "r.a.b", Level: "must", Conclusion: bundle.Pass},
		{Rule: "profile.e2b.http.1", Level: "must", Conclusion: bundle.Pass},
	}
	r := Report(run, cat, obs, verdicts)

	var ids []string
	for _, s := range r.Scenarios {
		ids = append(ids, s.ID+" "+s.Axes.Codec+" "+string(s.Verdict)+" "+s.Title)
	}
	if want := []string{"a.one json pass One", "a.one proto fail One", "b.two json advisory Two"}; !slices.Equal(ids, want) {
		t.Errorf("scenarios %q, want %q", ids, want)
	}
	ids = nil
	for _, x := range r.Rules {
		ids = append(ids, x.ID+" "+string(x.Verdict))
	}
	if want := []string{"a.a.a advisory", "profile.e2b.http.1 pass", "r.a.b fail"}; !slices.Equal(ids, want) {
		t.Errorf("rules %q, want %q", ids, want)
	}
	if s := r.Rules[2].Scenarios; !slices.Equal(s, []string{"a.one", "b.two"}) {
		t.Errorf("scenarios of a rule %q", s)
	}
	if len(r.Counts) != len(bundle.Conclusions()) || r.Counts[bundle.Pass] != 1 || r.Counts[bundle.Fail] != 1 || r.Counts[bundle.Advisory] != 1 {
		t.Errorf("counts %v", r.Counts)
	}
	if got, want := r.Scenarios[1].Replay, "assay replay a.one http://127.0.0.1:8081 --axis connect/proto/1.1/identity --seed 7"; got != want {
		t.Errorf("replay %q, want %q", got, want)
	}
	got := r.Scenarios[1].Rules[0]
	if got.Text != "It ends." || got.Source != "Connect, EndStream (C118)" || got.Message != "why" || got.Seen != "s" {
		t.Errorf("rule verdict %+v", got)
	}
	if r.DurationMS != 2500 || r.Scenarios[2].DurationMS != 2000 || r.Schema != bundle.ReportSchema || len(r.RunRules) != 1 {
		t.Errorf("report %+v", r)
	}
}

func TestReplayQuotesWhatAShellWouldTakeApart(t *testing.T) {
	run := testRun()
	run.Target.URL = "http://h/?a=1&b='2'"
	if got, want := replay(run, instance{scenario: "a.one"}), `assay replay a.one 'http://h/?a=1&b='\''2'\''' --axis /// --seed 7`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	run.Target.Embedded = true
	if got, want := replay(run, instance{scenario: "a.one"}), `assay replay a.one --axis /// --seed 7`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWhatWasNotTriedHidesNothingOfARule(t *testing.T) {
	for _, c := range []struct {
		name string
		of   []bundle.Conclusion
		want bundle.Conclusion
	}{
		{"a pass stands beside an absent feature", []bundle.Conclusion{bundle.Unsupported, bundle.Pass}, bundle.Pass},
		{"a deviation stands beside an absent feature", []bundle.Conclusion{bundle.Pass, bundle.Deviation, bundle.Unsupported}, bundle.Deviation},
		{"a slow scenario that was not requested hides no pass", []bundle.Conclusion{bundle.Pass, bundle.NotRun}, bundle.Pass},
		{"a failure outranks all", []bundle.Conclusion{bundle.Unsupported, bundle.Fail, bundle.Pass}, bundle.Fail},
		{"a rule without a test is not-run", []bundle.Conclusion{bundle.Unsupported, bundle.NotRun}, bundle.NotRun},
	} {
		t.Run(c.name, func(t *testing.T) {
			var verdicts []bundle.Verdict
			for _, v := range c.of {
				verdicts = append(verdicts, bundle.Verdict{Scenario: "s", Rule: "r", Conclusion: v})
			}
			if got := ruleResults(verdicts); len(got) != 1 || got[0].Verdict != c.want {
				t.Errorf("rule results %+v, want one that is %s", got, c.want)
			}
		})
	}
}
