package known

import (
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

func knownList(t *testing.T, text string) *scenarios.Known {
	t.Helper()
	known, err := scenarios.ParseKnown("known.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return known
}

const knownRest = `reason: it is slow, link: "https://tracker.example/1", expires: 2027-03-31`

func TestKnownFailures(t *testing.T) {
	const own, other = "r.own.one", "r.standing.two"
	run := &bundle.Run{Started: time.Date(2027, 3, 31, 23, 0, 0, 0, time.UTC)}
	all := "- {pattern: a.b, " + knownRest + "}\n"
	one := "- {pattern: a.b, rule: r.own.one, " + knownRest + "}\n"
	for name, c := range map[string]struct {
		list       string
		own, other bundle.Conclusion
		wantOwn    bundle.Conclusion
		wantOther  bundle.Conclusion
	}{
		"a fail that is listed is known":                 {all, bundle.Fail, bundle.Pass, bundle.KnownFailure, bundle.Pass},
		"a fail of a standing rule is known too":         {all, bundle.Pass, bundle.Fail, bundle.Pass, bundle.KnownFailure},
		"every fail of the scenario is known":            {all, bundle.Fail, bundle.Fail, bundle.KnownFailure, bundle.KnownFailure},
		"only the fail of the named rule is known":       {one, bundle.Fail, bundle.Fail, bundle.KnownFailure, bundle.Fail},
		"a pass is unexpected":                           {all, bundle.Pass, bundle.Pass, bundle.UnexpectedPass, bundle.Pass},
		"only the pass of the named rule is unexpected":  {one, bundle.Pass, bundle.Fail, bundle.UnexpectedPass, bundle.Fail},
		"an advisory counts as a pass":                   {all, bundle.Pass, bundle.Advisory, bundle.UnexpectedPass, bundle.Advisory},
		"an inconclusive verdict stays inconclusive":     {all, bundle.Inconclusive, bundle.Pass, bundle.Inconclusive, bundle.Pass},
		"a defect of Assay is never hidden":              {all, bundle.Error, bundle.Error, bundle.Error, bundle.Error},
		"a defect of Assay stays beside a known failure": {all, bundle.Fail, bundle.Error, bundle.KnownFailure, bundle.Error},
		"a scenario that did not run proves nothing":     {all, bundle.NotRun, bundle.NotRun, bundle.NotRun, bundle.NotRun},
		"two entries for one fail are one":               {all + one, bundle.Fail, bundle.Pass, bundle.KnownFailure, bundle.Pass},
		"another scenario is left alone":                 {strings.Replace(all, "a.b", "a.c", 1), bundle.Fail, bundle.Pass, bundle.Fail, bundle.Pass},
		"other axes are left alone":                      {strings.Replace(all, "a.b", "a.b, axes: proto", 1), bundle.Fail, bundle.Pass, bundle.Fail, bundle.Pass},
		"an entry that has expired excuses nothing":      {strings.Replace(all, "2027-03-31", "2027-03-30", 1), bundle.Fail, bundle.Pass, bundle.Fail, bundle.Pass},
		"an entry that has expired expects nothing":      {strings.Replace(all, "2027-03-31", "2027-03-30", 1), bundle.Pass, bundle.Pass, bundle.Pass, bundle.Pass},
		"an entry for each of the rules excuses its own": {one + strings.Replace(one, own, other, 1), bundle.Fail, bundle.Pass, bundle.KnownFailure, bundle.UnexpectedPass},
	} {
		t.Run(name, func(t *testing.T) {
			list := knownList(t, c.list)
			o := &bundle.Observation{Scenario: "a.b", Axes: bundle.Axes{Codec: "json"}}
			verdicts := []bundle.Verdict{{Rule: own, Conclusion: c.own, Message: "m"}, {Rule: other, Conclusion: c.other, Message: "m"}}
			Apply(list, []string{own}, run, o, verdicts)
			if verdicts[0].Conclusion != c.wantOwn || verdicts[1].Conclusion != c.wantOther {
				t.Errorf("got %s and %s, want %s and %s", verdicts[0].Conclusion, verdicts[1].Conclusion, c.wantOwn, c.wantOther)
			}
			for _, v := range verdicts {
				told := strings.Contains(v.Message, "known.yaml:") && strings.Contains(v.Message, "https://tracker.example/1")
				if changed := v.Conclusion == bundle.KnownFailure || v.Conclusion == bundle.UnexpectedPass; changed != told {
					t.Errorf("%s says %q", v.Conclusion, v.Message)
				}
			}
		})
	}
}

func TestTheListOfKnownFailuresIsJudgedItself(t *testing.T) {
	axes := bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "1.1", Compression: "identity"}
	run := &bundle.Run{
		Started: time.Date(2027, 3, 31, 23, 0, 0, 0, time.UTC),
		Planned: []bundle.Planned{{Scenario: "a.b", Axes: axes}, {Scenario: "a.planned", Axes: axes}},
		LeftOut: []bundle.Planned{{Scenario: "a.left-out", Axes: axes}},
	}
	obs := []*bundle.Observation{
		{Scenario: "a.b", Axes: axes}, {Scenario: "a.skipped", Axes: axes, Skip: &bundle.Skip{Reason: bundle.SkipSlow}}, nil,
	}
	verdicts := []bundle.Verdict{{Scenario: "a.b", Axes: axes, Rule: "r.one.two", Conclusion: bundle.Pass}}
	for name, c := range map[string]struct{ entry, rule string }{
		"a scenario that ran":                    {"pattern: a.b", ""},
		"a rule that it was judged by":           {"pattern: a.*, rule: r.one.two", ""},
		"a rule that it was not judged by":       {"pattern: a.b, rule: r.one.three", ruleKnownUnmatched},
		"a scenario that was skipped":            {"pattern: a.skipped, rule: r.one.three", ""},
		"a scenario that was planned":            {"pattern: a.planned, rule: r.one.three", ""},
		"a scenario that was not to run again":   {"pattern: a.left-out, rule: r.one.three", ""},
		"a scenario that was not selected":       {"pattern: a.c", ruleKnownUnmatched},
		"axes that were not selected":            {"pattern: a.b, axes: proto", ruleKnownUnmatched},
		"an entry that has expired":              {"pattern: a.b, expires: 2027-03-30", ruleKnownExpired},
		"an expired entry that matches nothing":  {"pattern: a.c, expires: 2027-03-30", ruleKnownExpired},
		"a pattern in which a bracket is closed": {"pattern: 'a.[bp]*'", ""},
	} {
		t.Run(name, func(t *testing.T) {
			rest := knownRest
			if strings.Contains(c.entry, "expires") {
				rest, _, _ = strings.Cut(knownRest, ", expires")
			}
			list := knownList(t, "# first line\n- {"+c.entry+", "+rest+"}\n")
			got := List(list, run, obs, verdicts)
			if c.rule == "" {
				if len(got) != 0 {
					t.Errorf("got %+v", got)
				}
				return
			}
			if len(got) != 1 || got[0].Rule != c.rule || got[0].Conclusion != bundle.Fail || !strings.Contains(got[0].Message, "known.yaml:2") {
				t.Errorf("got %+v, want a fail of %s", got, c.rule)
			}
		})
	}
	if got := List(nil, run, obs, verdicts); got != nil {
		t.Errorf("without a list: %+v", got)
	}
}
