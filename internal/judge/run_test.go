package judge

import (
	"strings"
	"testing"

	"assay/internal/judge/outcome"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

func TestRequiredFeatures(t *testing.T) {
	j := &Judge{Profile: &scenarios.Profile{ID: "e2b", Require: []string{"process.start", "process.list", "process.user", "codec.json", "http.1"}}}
	run := testRun()
	run.Features = map[string]bundle.Feature{
		"process.start": {State: bundle.FeaturePresent},
		"process.list":  {State: bundle.FeatureAbsent, Detail: "HTTP 404"},
		"process.user":  {State: bundle.FeatureAbsent, Hidden: true, Detail: "another header"},
		"codec.json":    {State: bundle.FeatureUnknown},
	}
	vs := j.Run(run, nil)
	want := []struct {
		rule       string
		conclusion bundle.Conclusion
		message    string
	}{
		{"profile.e2b.codec.json", bundle.Inconclusive, "feature codec.json is required but its probe was inconclusive"},
		{"profile.e2b.http.1", bundle.Inconclusive, "feature http.1 is required but was not probed"},
		{"profile.e2b.process.list", bundle.Fail, "feature process.list is required by the profile but absent: HTTP 404"},
		{"profile.e2b.process.start", bundle.Pass, ""},
		{"profile.e2b.process.user", bundle.Unsupported, "feature process.user cannot be tested in this run: another header"},
	}
	if len(vs) != len(want) {
		t.Fatalf("got %+v", vs)
	}
	for i, w := range want {
		if vs[i].Rule != w.rule || vs[i].Level != "must" || vs[i].Scenario != "" {
			t.Errorf("got %+v, want %s", vs[i], w.rule)
		}
		wantVerdict(t, vs[i], w.conclusion, w.message)
	}
	run.Interrupted, run.Features = true, nil
	if v := j.Run(run, nil)[0]; v.Conclusion != bundle.NotRun {
		t.Errorf("an interrupted run: %+v", v)
	}
}

// A URL can have only one of the two kinds of HTTP/2. If a profile requires both, the other one is
// unsupported: neither broken nor met.
func TestAFeatureThatDoesNotGoWithTheURLIsUnsupported(t *testing.T) {
	j := &Judge{Profile: &scenarios.Profile{ID: "full", Require: []string{"http.h2c", "http.h2-tls"}}, Strict: true}
	for url, want := range map[string][2]bundle.Conclusion{ // h2-tls, h2c
		"https://x": {bundle.Fail, bundle.Unsupported},
		"http://x":  {bundle.Unsupported, bundle.Fail},
		"HTTP://x":  {bundle.Unsupported, bundle.Fail},
		"wss://x/a": {bundle.Fail, bundle.Unsupported},
		"ws://x/a":  {bundle.Unsupported, bundle.Fail},
	} {
		run := testRun()
		run.Target.URL = url
		run.Features = map[string]bundle.Feature{"http.h2c": {State: bundle.FeatureAbsent}, "http.h2-tls": {State: bundle.FeatureAbsent}}
		vs := j.Run(run, nil)
		if len(vs) != 2 || vs[0].Conclusion != want[0] || vs[1].Conclusion != want[1] {
			t.Errorf("%s: got %+v, want %v", url, vs, want)
		}
	}
}

// Features beyond the profile are reported and are not a breach, even with --strict.
func TestFeaturesThatNobodyClaimed(t *testing.T) {
	j := &Judge{Profile: &scenarios.Profile{ID: "e2b", Require: []string{"process.start"}}, Strict: true}
	run := testRun()
	run.Features = map[string]bundle.Feature{
		"process.start": {State: bundle.FeaturePresent}, "rpc.get": {State: bundle.FeaturePresent},
		"health": {State: bundle.FeaturePresent}, "stdio.ws": {State: bundle.FeatureAbsent}, "http.h2c": {State: bundle.FeatureUnknown},
	}
	vs := j.Run(run, nil)
	if len(vs) != 2 || vs[1].Rule != "profile.e2b.unclaimed" || vs[1].Level != "may" || vs[1].Seen != "health, rpc.get" {
		t.Fatalf("got %+v", vs)
	}
	wantVerdict(t, vs[1], bundle.Pass, "present but not claimed by the profile: health, rpc.get")
	j.Profile.Require = []string{"process.start", "rpc.get", "health"}
	for _, v := range j.Run(run, nil) {
		if v.Rule == "profile.e2b.unclaimed" {
			t.Errorf("nothing is unclaimed, and yet: %+v", v)
		}
	}
}

func TestLeftovers(t *testing.T) {
	o := observation(streamExchange("p"))
	if vs := (&Judge{}).Run(testRun(), []*bundle.Observation{o, nil}); len(vs) != 0 {
		t.Errorf("nothing was left, got %+v", vs)
	}
	o.Iterations[0].Processes[0].Cleanup = "failed: HTTP 500"
	wantOne(t, "run.leftovers", (&Judge{}).Run(testRun(), []*bundle.Observation{o}), bundle.Advisory, "1 process was left on the target: pid 42 (p of area.one: failed: HTTP 500)")
	o.Iterations[0].Processes[0].Cleanup = "failed: no-answer nothing came"
	wantOne(t, "run.leftovers", (&Judge{}).Run(testRun(), []*bundle.Observation{o}), bundle.Inconclusive, "the target did not respond to tell whether 1 process was left on the target: pid 42 (p of area.one: failed: no-answer nothing came)")
	run := testRun()
	run.Swept = true
	if vs := (&Judge{}).Run(run, []*bundle.Observation{o}); len(vs) != 0 {
		t.Errorf("the last look found nothing, got %+v", vs)
	}
	run.Left = []bundle.Leftover{{PID: 7, Mark: "run1/area.one", Cleanup: "killed"}}
	wantOne(t, "run.leftovers", (&Judge{}).Run(run, []*bundle.Observation{o}), bundle.Advisory, "1 process was left on the target: pid 7 (run1/area.one: killed)")
}

func TestCountersAreMonotoneOverTheRun(t *testing.T) {
	j := &Judge{Rules: &scenarios.Catalogue{Rules: []*scenarios.Rule{{ID: "coppice.metrics.monotone", Level: "must"}}}}
	obs := func(scrapes ...bundle.Scrape) []*bundle.Observation {
		var all []*bundle.Observation
		for _, s := range scrapes {
			o := observation()
			o.Scrapes = []bundle.Scrape{s}
			all = append(all, o)
		}
		return all
	}
	// The observations are not in the order of time.
	up := obs(scrape("b", 30, 5, 4, 0, 1, 0), scrape("a", 10, 2, 1, 0, 1, 7))
	wantOne(t, ruleMonotone, j.Run(testRun(), up), bundle.Pass, "")

	down := obs(scrape("b", 30, 5, 4, 0, 1, 0), scrape("a", 10, 5, 4, 0, 2, 0))
	wantVerdict(t, j.Run(testRun(), down)[0], bundle.Fail,
		"counter killed went down from 2 (scrape a of area.one) to 1 (scrape b of area.one)")

	overlap := obs(scrape("b", 11, 5, 4, 0, 1, 0), scrape("a", 10, 5, 4, 0, 2, 0))
	wantVerdict(t, j.Run(testRun(), overlap)[0], bundle.Pass, "")

	j.Rules = nil
	if vs := j.Run(testRun(), down); len(vs) != 0 {
		t.Errorf("no such rule, got %+v", vs)
	}
}

func TestTheScenarioInWhichTheTargetDied(t *testing.T) {
	_, early := brokenScenario()
	_, late := brokenScenario()
	_, lost := brokenScenario()
	early.Scenario, late.Scenario = "area.early", "area.late"
	late.Ended = bundle.Stamp{T: early.Ended.T + 1e9, N: early.Ended.N + 1}
	if r := outcome.Report(testRun(), nil, []*bundle.Observation{late, early}, nil); r.Died != nil {
		t.Errorf("died in %s, although every scenario ran", r.Died.Scenario)
	}
	lost.Skip, lost.Iterations = &bundle.Skip{Reason: bundle.SkipTargetGone}, nil
	lost.Ended = bundle.Stamp{T: late.Ended.T + 1e9, N: late.Ended.N + 1}
	r := outcome.Report(testRun(), nil, []*bundle.Observation{late, lost, early}, nil)
	if r.Died == nil || r.Died.Scenario != "area.late" {
		t.Errorf("died in %+v, want area.late: the last that ended", r.Died)
	}
	if v, ok := new(Judge).alive(testRun(), []*bundle.Observation{early, lost}); !ok || v.Conclusion != bundle.Fail {
		t.Errorf("the verdict on a target that died is %+v", v)
	}
}

// A target that was started again is blamed for what kills it alone, unless that scenario judges it itself, and otherwise for nothing.
func TestATargetThatDiedAndCameBack(t *testing.T) {
	at := func(scenario string) bundle.Death { return bundle.Death{Scenario: scenario, Back: 3e8} }
	cat := &scenarios.Catalogue{Scenarios: []*scenarios.Scenario{{ID: "area.destructive", Destructive: true}}}
	for name, tc := range map[string]struct {
		deaths []bundle.Death
		want   bundle.Conclusion
		says   string
	}{
		"it did not die":      {nil, "", ""},
		"of nothing":          {[]bundle.Death{at("")}, bundle.Inconclusive, "the target refused connections 1 time, and was back after 300ms"},
		"of one scenario":     {[]bundle.Death{at(""), at("area.one"), at("area.one")}, bundle.Fail, "the target died while area.one ran, with nothing beside it; it was back after 300ms"},
		"of two":              {[]bundle.Death{at("area.one"), at("area.two")}, bundle.Fail, "while area.one, and while area.two ran"},
		"of what it is about": {[]bundle.Death{at("area.destructive")}, "", ""},
		"of more than that":   {[]bundle.Death{at("area.destructive"), at("area.two")}, bundle.Fail, "while area.two ran"},
	} {
		t.Run(name, func(t *testing.T) {
			run := testRun()
			run.Deaths = tc.deaths
			v, ok := (&Judge{Rules: cat}).alive(run, nil)
			if ok != (tc.want != "") || ok && (v.Conclusion != tc.want || !strings.Contains(v.Message, tc.says)) {
				t.Errorf("%v: %s %q, want %s %q", ok, v.Conclusion, v.Message, tc.want, tc.says)
			}
		})
	}
}
