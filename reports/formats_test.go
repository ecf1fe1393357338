package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"assay/internal/record/bundle"
)

// sound maps each machine format to a check of a whole document.
func sound() map[string]func(*testing.T, []byte) {
	return map[string]func(*testing.T, []byte){
		FormatCTRF:        func(t *testing.T, doc []byte) { conforms(t, "ctrf-0.0.json", doc); ctrfCounts(t, doc) },
		FormatJUnit:       xunit,
		FormatOpenMetrics: exposed,
		FormatGitHub:      func(t *testing.T, doc []byte) { workflowCommands(t, doc) },
		FormatSummary:     func(t *testing.T, doc []byte) { summaryPage(t, doc, SummaryLimit) },
		FormatJSON: func(t *testing.T, doc []byte) {
			if !json.Valid(doc) {
				t.Error("not JSON")
			}
		},
	}
}

// ends are the extensions of the golden files.
var ends = map[string]string{FormatCTRF: "ctrf.json", FormatOpenMetrics: "om", FormatGitHub: "annotations.txt", FormatSummary: "summary.md"}

func TestTheFormatsForCI(t *testing.T) {
	for format, end := range ends {
		for name, r := range map[string]*bundle.Report{"passing": passing(), "failing": failing(), "caused": caused()} {
			t.Run(name+" as "+format, func(t *testing.T) {
				doc := rendered(t, format, r)
				golden(t, name+"."+end, doc)
				sound()[format](t, doc)
			})
		}
		t.Run("a load run as "+format, func(t *testing.T) {
			doc := loadRendered(t, format, loaded())
			golden(t, "load."+end, doc)
			sound()[format](t, doc)
		})
	}
}

func TestTheSelftestInFormatsForCI(t *testing.T) {
	for name, r := range map[string]*bundle.SelftestReport{"selftest": sampleSelftest(), "selftest-blame": sampleBlame(), "nothing": {}} {
		var b, x bytes.Buffer
		if err := SelftestCTRF(&b, r); err != nil {
			t.Fatal(err)
		}
		if err := SelftestJUnit(&x, r); err != nil {
			t.Fatal(err)
		}
		sound()[FormatCTRF](t, b.Bytes())
		sound()[FormatJUnit](t, x.Bytes())
		if name != "nothing" {
			golden(t, name+".ctrf.json", b.Bytes())
			golden(t, name+".xml", x.Bytes())
		}
	}
}

// Whatever the target says, and however much fails, every format is well-formed text.
func TestEveryFormatIsSoundForAnyReport(t *testing.T) {
	t.Parallel()
	all := map[string]*bundle.Report{"nothing": {}}
	if !testing.Short() {
		all["ten thousand failures"] = many(10000)
	}
	for _, text := range hostileTexts {
		all[fmt.Sprintf("%q", text)] = saying(text)
	}
	for format, check := range sound() {
		for name, r := range all {
			t.Run(name+" as "+format, func(t *testing.T) {
				doc := rendered(t, format, r)
				printableOnly(t, doc)
				check(t, doc)
			})
		}
	}
}

func TestEveryFormatIsSoundForAnyLoadRun(t *testing.T) {
	t.Parallel()
	all := map[string]*bundle.LoadReport{"nothing": {}, "no samples": {Verdict: bundle.LoadInconclusive, Reasons: []string{"no stream was opened"}}}
	for _, text := range hostileTexts {
		r := loaded()
		r.Target = bundle.LoadTarget{URL: text, Profile: text, Protocol: text}
		r.Reasons = []string{text, text}
		r.Examples = []bundle.LoadExample{{Outcome: text, Message: text}}
		r.Thresholds = []bundle.LoadThreshold{{Expr: text, Observed: text}}
		r.Metrics.Violations = []string{text}
		for i := range r.Classes {
			r.Classes[i].Name = text // both have the same
		}
		all[fmt.Sprintf("%q", text)] = r
	}
	for format, check := range sound() {
		for name, r := range all {
			t.Run(name+" as "+format, func(t *testing.T) {
				doc := loadRendered(t, format, r)
				printableOnly(t, doc)
				check(t, doc)
			})
		}
	}
}

// saying is a report all of whose texts are the same.
func saying(text string) *bundle.Report {
	axes := bundle.Axes{Protocol: text, Codec: text, HTTP: text, Compression: text}
	broken, advisory, open := rule(text, text, text, bundle.Fail, text), rule(text, text, text, bundle.Advisory, text), rule(text+"2", text, text, bundle.Inconclusive, text)
	broken.Seen, broken.Source, broken.Counts = text, text, map[string]int{text: 1}
	return &bundle.Report{
		Tool: bundle.Tool{Name: text, Version: text}, Run: text, Target: bundle.Target{URL: text, Looks: text}, Profile: text, Verdict: text, Exit: 1, Notes: []string{text},
		Scenarios: []bundle.ScenarioResult{{ID: text, Title: text, Axes: axes, Replay: text, Transcript: text, Verdict: bundle.Fail, Rules: []bundle.RuleVerdict{broken, advisory, open}}},
		RunRules:  []bundle.RuleVerdict{broken},
		Causes:    []bundle.Cause{{Rule: text, Level: text, Title: text, Scenario: text, Axes: axes, Message: text, Follows: []string{text + "3"}, Unjudged: []string{text}, Reproducer: text, Transcript: text}},
		Rules:     []bundle.RuleResult{{ID: text, Level: text, Verdict: bundle.Fail}},
		Scope:     &bundle.Scope{Unsupported: []bundle.Count{{Name: text, Runs: 1}}, NotRun: []bundle.Count{{Name: text, Runs: 1}}, Deviations: []bundle.Count{{Name: text, Runs: 1}}},
		Died:      &bundle.Died{Scenario: text, Axes: axes},
	}
}

// many is a report with n broken rules, each in a scenario of its own.
func many(n int) *bundle.Report {
	r := passing()
	r.Verdict, r.Exit = bundle.Nonconformant, 1
	for i := range n {
		id := fmt.Sprintf("process.many.n%d", i)
		r.Scenarios = append(r.Scenarios, bundle.ScenarioResult{
			ID: id, Title: "One of many", Axes: axesJSON, Verdict: bundle.Fail, Rules: []bundle.RuleVerdict{rule(id, "must", "", bundle.Fail, "broken: "+hostileText)},
		})
		if i < 100 {
			r.Causes = append(r.Causes, bundle.Cause{Rule: id, Level: "must", Scenario: id, Axes: axesJSON, Message: "broken"})
		}
	}
	return counted(r)
}

func printableOnly(t *testing.T, doc []byte) {
	t.Helper()
	if !utf8.Valid(doc) || bytes.ContainsFunc(doc, func(r rune) bool {
		return r != '\n' && r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff || r == '\u202e'
	}) {
		t.Errorf("a control character came through: %q", doc[:min(len(doc), 2000)])
	}
}

func TestCTRFMapsEveryVerdict(t *testing.T) {
	want := map[bundle.Conclusion]string{
		bundle.Pass: "passed", bundle.Advisory: "passed", bundle.Deviation: "passed",
		bundle.Fail: "failed", bundle.UnexpectedPass: "failed",
		bundle.Error: "other", bundle.Inconclusive: "other", "from the future": "other",
		bundle.Unsupported: "skipped", bundle.KnownFailure: "skipped", bundle.NotRun: "skipped",
	}
	for v, status := range want {
		r := &bundle.Report{Started: began, DurationMS: 2000, Profile: "e2b", Target: bundle.Target{URL: "http://t"}, Scenarios: []bundle.ScenarioResult{{
			ID: "a.b", Axes: axesJSON, Verdict: v, DurationMS: 1042, Replay: "assay replay a.b", Title: "A title",
			Rules: []bundle.RuleVerdict{rule("x.y", "must", "The sentence.", v, "one two")},
		}}}
		var doc ctrfReport
		if err := json.Unmarshal(rendered(t, FormatCTRF, r), &doc); err != nil {
			t.Fatal(err)
		}
		got, s := doc.Results.Tests[0], doc.Results.Summary
		if got.Status != status || got.Raw != string(v) || got.Duration != 1042 || got.Labels["codec"] != "json" || got.Suite[0] != "assay.a" {
			t.Errorf("%s is %+v, want status %s", v, got, status)
		}
		if status != "passed" && (got.Message != "x.y: one two" || !strings.Contains(got.Trace, "The sentence.")) {
			t.Errorf("%s: message %q, trace %q", v, got.Message, got.Trace)
		}
		if !strings.Contains(fmt.Sprint(got.Extra), "assay replay a.b") || doc.Results.Environment.Profile != "e2b" || doc.Results.Environment.App != "http://t" {
			t.Errorf("%s: extra %v, environment %+v", v, got.Extra, doc.Results.Environment)
		}
		if s.Start != began.UnixMilli() || s.Stop != s.Start+2000 {
			t.Errorf("from %d to %d", s.Start, s.Stop)
		}
	}
}

// ctrfCounts checks that the summary has the counts of the tests.
func ctrfCounts(t *testing.T, doc []byte) {
	t.Helper()
	var r ctrfReport
	if err := json.Unmarshal(doc, &r); err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	suites := map[string]bool{}
	for _, test := range r.Results.Tests {
		n[test.Status]++
		suites[test.Suite[0]] = true
	}
	s := r.Results.Summary
	if s.Tests != len(r.Results.Tests) || s.Passed != n["passed"] || s.Failed != n["failed"] || s.Skipped != n["skipped"] || s.Other != n["other"] || s.Suites != len(suites) {
		t.Errorf("the summary has %+v, the tests are %v in %d suites", s, n, len(suites))
	}
}
