package reports

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

// wavering is the report of a run with a flaky rule.
func wavering() *bundle.Report {
	r := passing()
	v := rule("process.output.complete", "must", "Every byte arrives.", bundle.Flaky, "failed in 3 of 50 repeats: stdout ends early")
	v.Repeats = &bundle.Repeats{Failed: 3, Of: 50}
	r.Scenarios = append(r.Scenarios, bundle.ScenarioResult{ID: "process.output.short", Title: "Short output", Axes: axesJSON, Verdict: bundle.Flaky, Rules: []bundle.RuleVerdict{v}})
	r.Verdict, r.Exit = bundle.Nonconformant, 1
	return counted(r)
}

func TestAFlakyRuleIsInEveryFormatWithItsCounts(t *testing.T) {
	for format, want := range map[string][]string{
		FormatTerminal: {"FLAKY  process.output.complete", "failed in 3 of 50 repeats", "1 flaky", "NOT CONFORMANT"},
		FormatJSON:     {`"verdict": "flaky"`, `"failed": 3`, `"of": 50`, `"flaky": 1`},
		FormatJUnit:    {`<failure message="process.output.complete: failed in 3 of 50 repeats`, "flaky  process.output.complete"},
		FormatMarkdown: {"## Broken", "failed in 3 of 50 repeats", "**1 flaky**"},
		FormatHTML:     {"failed in 3 of 50 repeats"},
		FormatCTRF:     {`"flaky"`, "failed in 3 of 50 repeats"},
		FormatGitHub:   {"::error ", "failed in 3 of 50 repeats"},
		FormatSummary:  {"## Broken", "failed in 3 of 50 repeats"},

		FormatOpenMetrics: {"flaky"},
	} {
		var b bytes.Buffer
		if err := Conform().Render(&b, format, wavering(), Style{Width: 100}); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%s lacks %q:\n%s", format, w, &b)
			}
		}
	}
}

func TestAFlakyRuleIsCountedAsAFailureInJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, wavering()); err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Failures int `xml:"failures,attr"`
	}
	if err := xml.Unmarshal(b.Bytes(), &suites); err != nil || suites.Failures != 1 {
		t.Errorf("%v, %d failures", err, suites.Failures)
	}
}
