package known

import (
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

func axesOf(codec, http string) bundle.Axes {
	return bundle.Axes{Protocol: "connect", Codec: codec, HTTP: http, Compression: "identity"}
}

func TestAFirstListNamesWhatFailsByScenarioRuleAndAxes(t *testing.T) {
	fail := func(id, rule, codec, http string, c bundle.Conclusion) bundle.Verdict {
		return bundle.Verdict{Scenario: id, Rule: rule, Axes: axesOf(codec, http), Conclusion: c, Message: "saw\n\x1b[2J]"}
	}
	verdicts := []bundle.Verdict{
		fail("a.all", "r.one.two", "json", "1.1", bundle.Fail), fail("a.all", "r.one.two", "proto", "1.1", bundle.Fail),
		fail("a.all", "r.one.two", "json", "h2c", bundle.Unsupported),
		fail("a.codec", "r.one.two", "proto", "1.1", bundle.Fail), fail("a.codec", "r.one.two", "json", "1.1", bundle.Pass),
		fail("a.codec", "r.one.two", "proto", "h2c", bundle.Fail),
		fail("a.mixed", "r.one.two", "proto", "1.1", bundle.Fail), fail("a.mixed", "r.one.two", "json", "h2c", bundle.Fail),
		fail("a.mixed", "r.one.two", "json", "1.1", bundle.Pass), fail("a.mixed", "r.one.two", "proto", "h2c", bundle.Advisory),
		fail("a.wavers", "r.one.two", "json", "1.1", bundle.Flaky),
		fail("a.passes", "r.one.two", "json", "1.1", bundle.Pass), fail("a.open", "r.one.two", "json", "1.1", bundle.Inconclusive),
		fail("a.known", "r.one.two", "json", "1.1", bundle.KnownFailure),
		{Rule: "profile.full.http.h2c", Conclusion: bundle.Fail},
	}
	run := &bundle.Run{ID: "r1", Started: time.Date(2026, 11, 23, 23, 30, 0, 0, time.UTC), Target: bundle.Target{URL: "http://127.0.0.1:8081"}}
	first := FirstOf(run, verdicts)
	if first.Entries != 5 || first.Beyond != 1 {
		t.Errorf("%d entries, %d beyond", first.Entries, first.Beyond)
	}
	list, err := scenarios.ParseKnown("known.yaml", first.Text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, first.Text)
	}
	var got []string
	for _, e := range list.Entries {
		flaky := ""
		if e.Flaky {
			flaky = " flaky"
		}
		got = append(got, e.Pattern+" "+e.Rule+" "+e.Axes+flaky)
		if e.Expires != "2027-02-21" || !strings.HasPrefix(e.Reason, "TODO") || !strings.Contains(e.Link, "TODO") {
			t.Errorf("entry %+v", e)
		}
	}
	want := []string{
		"a.all r.one.two ", "a.codec r.one.two proto", "a.mixed r.one.two connect/proto/1.1/identity", "a.mixed r.one.two connect/json/h2c/identity",
		"a.wavers r.one.two  flaky",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	excuses(t, list, run, verdicts)
}

// excuses checks that a list leaves no failure of the scenarios, and no pass unexpected.
func excuses(t *testing.T, list *scenarios.Known, run *bundle.Run, verdicts []bundle.Verdict) {
	t.Helper()
	for _, v := range verdicts {
		one := []bundle.Verdict{v}
		Apply(list, []string{v.Rule}, run, &bundle.Observation{Scenario: v.Scenario, Axes: v.Axes}, one)
		if v.Scenario != "" && one[0].Conclusion.FailsRun() {
			t.Errorf("%s [%s] is %s with the list", v.Scenario, v.Axes, one[0].Conclusion)
		}
	}
}

func TestTheFirstListOfAConformantTargetIsEmpty(t *testing.T) {
	first := FirstOf(&bundle.Run{}, []bundle.Verdict{{Scenario: "a.b", Rule: "r.one.two", Conclusion: bundle.Pass}})
	list, err := scenarios.ParseKnown("known.yaml", first.Text)
	if err != nil || len(list.Entries) != 0 || first.Entries != 0 {
		t.Errorf("%v, %+v", err, list)
	}
}
