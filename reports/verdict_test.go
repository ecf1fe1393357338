package reports

import (
	"bytes"
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

// ran returns the report of a run with one run for each conclusion, each with one rule.
func ran(of ...bundle.Conclusion) *bundle.Report {
	r := &bundle.Report{Verdict: bundle.Conformant, Profile: "full"}
	for i, c := range of {
		id := "a.b." + string(rune('a'+i))
		r.Scenarios = append(r.Scenarios, bundle.ScenarioResult{ID: id, Verdict: c, Rules: []bundle.RuleVerdict{rule(id, "must", "", c, "")}})
	}
	return counted(r)
}

func TestTheVerdictSaysWhatWasShown(t *testing.T) {
	const pass, known, unsupported, advisory = bundle.Pass, bundle.KnownFailure, bundle.Unsupported, bundle.Advisory
	part := &bundle.Coverage{Rules: 310, Tested: 12, Runs: 515, Planned: 20, Partial: true}
	own := &bundle.Coverage{Rules: 310, Runs: 515, Own: 2, Partial: true}
	cases := []struct {
		name     string
		report   *bundle.Report
		coverage *bundle.Coverage
		want     string
	}{
		{"all of the profile", ran(pass, unsupported), &bundle.Coverage{Rules: 9, Tested: 9, Runs: 9, Planned: 9}, "CONFORMANT to profile full: every tested rule holds (exit 0)"},
		{"all of it, in a report of an older version", ran(pass), nil, "CONFORMANT to profile full: every tested rule holds (exit 0)"},
		{"advisories", ran(pass, advisory), nil, "CONFORMANT to profile full, with advisories: every tested must rule holds (exit 0)"},
		{"a selection", ran(pass, pass), part, "PARTIAL 12 of 310 rules of profile full were tested: each holds (exit 0)"},
		{"a selection with one rule", ran(pass), &bundle.Coverage{Rules: 310, Tested: 1, Runs: 515, Planned: 1, Partial: true}, "PARTIAL 1 of 310 rules of profile full was tested: each holds (exit 0)"},
		{"a selection with advisories", ran(pass, advisory), part, "PARTIAL 12 of 310 rules of profile full were tested, with advisories: each must rule holds (exit 0)"},
		{"some of the axes", ran(pass), &bundle.Coverage{Rules: 310, Tested: 310, Runs: 515, Planned: 400, Partial: true}, "PARTIAL 310 of 310 rules of profile full were tested, in 400 of 515 runs: each holds (exit 0)"},
		{"nothing of the profile", ran(pass, pass), &bundle.Coverage{Rules: 310, Runs: 515, Partial: true}, "PARTIAL 2 other rules were tested, none of the 310 rules of profile full: each holds (exit 0)"},
		{"own scripts", ran(pass, pass), own, "PARTIAL 0 of 310 rules of profile full and 2 own rules were tested: each holds (exit 0)"},
		{"own scripts, and a profile that is about them", ran(pass, pass), &bundle.Coverage{Own: 2}, "CONFORMANT to profile full: every tested rule holds, 2 own rules among them (exit 0)"},
		{"some of the own scripts, and a profile that is about them", ran(pass, pass), &bundle.Coverage{Own: 1, Partial: true}, "PARTIAL 2 rules (1 own) were tested for profile full, in a part of the scenarios: each holds (exit 0)"},
		{"a known failure", ran(pass, known), nil, "CONFORMANT but for 1 known failure to profile full: every other tested rule holds (exit 0)"},
		{"known failures and advisories", ran(advisory, known, known), nil, "CONFORMANT but for 2 known failures to profile full, with advisories: every other tested must rule holds (exit 0)"},
		{"a known failure in a selection", ran(pass, known), part, "PARTIAL 12 of 310 rules of profile full were tested: each holds but for 1 known failure (exit 0)"},
		{"only known failures", ran(known, known, unsupported), nil, "KNOWN FAILURES ONLY 2 rules were tested for profile full: all 2 runs are known failures (exit 0)"},
		{"only a known failure, in a selection", ran(known), part, "KNOWN FAILURES ONLY 12 of 310 rules of profile full were tested: the only run is a known failure (exit 0)"},
		{"an empty shard", &bundle.Report{Verdict: bundle.RunInconclusive, Profile: "full"}, nil, "NOTHING TESTED nothing of this shard could be tested: the merged report of all shards decides (exit 0)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.report.Coverage = c.coverage
			word, sentence := verdictText(c.report)
			if got := word + " " + sentence; got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// What was only partly shown does not look like what was shown.
func TestOnlyAWholeRunLooksLikeAPass(t *testing.T) {
	r := ran(bundle.Pass)
	if got := shownAs(r); got != bundle.Pass {
		t.Errorf("a whole run looks like %s", got)
	}
	r.Coverage = &bundle.Coverage{Rules: 310, Tested: 12, Runs: 515, Planned: 20, Partial: true}
	for _, r := range []*bundle.Report{r, ran(bundle.KnownFailure), {Verdict: bundle.RunInconclusive}} {
		if shownAs(r) == bundle.Pass {
			word, _ := verdictText(r)
			t.Errorf("%s looks like a pass", word)
		}
	}
}

// Every format of a report that has the verdict in words has the same words.
func TestTheFormatsAgreeOnTheVerdict(t *testing.T) {
	r := passing()
	r.Coverage = &bundle.Coverage{Rules: 310, Tested: 12, Runs: 515, Planned: 20, Partial: true}
	for _, format := range []string{FormatTerminal, FormatMarkdown, FormatHTML, FormatGitHub, FormatSummary} {
		var b bytes.Buffer
		if err := Conform().Render(&b, format, r, Style{Width: 100}); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.Contains(strings.ToLower(text), "partial") || !strings.Contains(text, "12 of 310 rules of profile full were tested: each holds (exit 0)") {
			t.Errorf("%s:\n%s", format, text)
		}
	}
}
