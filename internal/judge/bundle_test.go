package judge

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

const storedScript = `id: area.one
title: A command ends with 0
rules: [process.end.exit-code]
steps: [{start: {as: p, sh: "true", wait: end}}]
expect: {p: {end: {code: 0}}}
`

func TestAStoredRunIsJudgedLikeALiveOne(t *testing.T) {
	cat, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenarios.Parse("area.one.yaml", []byte(storedScript))
	if err != nil {
		t.Fatal(err)
	}
	j := &Judge{Rules: cat, Profile: &scenarios.Profile{ID: "another", Require: []string{"process.start"}}}
	run := testRun()
	run.Profile, run.Ended = "first", time.Unix(1, 0)
	run.Features = map[string]bundle.Feature{"process.start": {State: bundle.FeatureAbsent}}
	broken := streamExchange("p")
	broken.Events[2].Exit.Code = 3
	good, bad := observation(streamExchange("p")), observation(broken)
	bad.Axes.Codec = "proto"
	b := &bundle.Bundle{
		Dir: "run", Run: run, Observations: []*bundle.Observation{bad, good},
		Scripts: map[string][]byte{"area.one": []byte(storedScript)},
	}
	verdicts, report, err := j.Bundle(b)
	if err != nil {
		t.Fatal(err)
	}
	want := append(j.Scenario(s, run, good), j.Scenario(s, run, bad)...)
	want = append(want, j.Run(run, []*bundle.Observation{good, bad})...)
	if !reflect.DeepEqual(verdicts, want) {
		t.Errorf("got  %s\nlive %s", asJSON(t, verdicts), asJSON(t, want))
	}
	if report.Profile != "another" || run.Profile != "first" || report.Exit != 1 || len(report.Scenarios) != 2 {
		t.Errorf("profile %s of a run of %s, exit code %d, %d scenarios", report.Profile, run.Profile, report.Exit, len(report.Scenarios))
	}
	j.Profile = nil
	if _, report, err = j.Bundle(b); err != nil || report.Profile != "first" {
		t.Errorf("without a profile: %v, %+v", err, report)
	}
}

// A planned scenario without an observation did not run, so the run counts as interrupted.
func TestAStoredRunThatLacksObservationsIsAPartialOne(t *testing.T) {
	run, o := testRun(), observation(streamExchange("p"))
	run.Ended = time.Unix(1, 0)
	other := o.Axes
	other.Codec = "proto"
	run.Planned = []bundle.Planned{{Scenario: "area.one", Axes: o.Axes}, {Scenario: "area.one", Axes: other}}
	b := &bundle.Bundle{Dir: "run", Run: run, Observations: []*bundle.Observation{o}, Scripts: map[string][]byte{"area.one": []byte(storedScript)}}
	verdicts, report, err := (&Judge{}).Bundle(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(verdicts) != 2 || verdicts[0].Conclusion != bundle.Pass || verdicts[1].Conclusion != bundle.NotRun || verdicts[1].Axes != other {
		t.Errorf("got %s", asJSON(t, verdicts))
	}
	if report.Exit != 130 {
		t.Errorf("exit code %d, want 130", report.Exit)
	}
}

func TestABundleWithoutItsScriptCannotBeJudged(t *testing.T) {
	for name, c := range map[string]struct {
		scripts map[string][]byte
		want    string
	}{
		"missing":    {nil, "run: the script of area.one is not in the bundle"},
		"unreadable": {map[string][]byte{"area.one": []byte("id: area.one\n")}, "run: the script of area.one: "},
	} {
		b := &bundle.Bundle{Dir: "run", Run: testRun(), Observations: []*bundle.Observation{observation()}, Scripts: c.scripts}
		if _, _, err := (&Judge{}).Bundle(b); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

func TestObservationsComeInTheOrderOfReports(t *testing.T) {
	a, b, c := observation(), observation(), observation()
	a.Scenario, b.Axes.Codec, c.Axes.Codec = "z.last", "proto", "json"
	given := []*bundle.Observation{a, b, c}
	if got := InOrder(given); got[0] != c || got[1] != b || got[2] != a || given[0] != a {
		t.Errorf("got %v", got)
	}
}
