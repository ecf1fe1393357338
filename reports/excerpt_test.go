package reports

import (
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

// Many causes leave each a few lines. The header fields that a verdict names are among them, in full; others are not.
func TestAnExcerptFoldsNoFieldThatDecides(t *testing.T) {
	f := streamWithoutEnd()
	long := strings.Repeat("decisive, ", 12) + "end"
	f.e.Request.Headers = []bundle.Header{
		{Name: "Host", Value: "gateway.example"}, {Name: "Connect-Timeout-Ms", Value: "abc"}, {Name: "X-Folded", Value: "1"}, {Name: "X-Long", Value: long},
	}
	f.e.Response.Headers = []bundle.Header{
		{Name: "Date", Value: "today"}, {Name: "Content-Type", Value: "text/plain"}, {Name: "Vary", Value: "Origin"}, {Name: "X-Folded", Value: "2"}, {Name: "X-Other", Value: "3"},
	}
	o := f.observation()
	v := f.verdict
	v.Scenario, v.Axes = o.Scenario, o.Axes
	v.Message = "content-type: want application/connect+json, saw text/plain"
	v.Evidence.Fields = []string{"connect-timeout-ms", "x-long"}
	r := &bundle.Report{
		Exit: 1, Causes: make([]bundle.Cause, 7),
		Scenarios: []bundle.ScenarioResult{{ID: o.Scenario, Axes: o.Axes, Verdict: bundle.Fail, Rules: []bundle.RuleVerdict{{ID: v.Rule, Verdict: bundle.Fail}}}},
	}
	for i := range r.Causes {
		r.Causes[i] = bundle.Cause{Rule: v.Rule, Scenario: o.Scenario, Axes: o.Axes}
	}
	Annotate(r, []*bundle.Observation{o}, []bundle.Verdict{v}, 60)
	for name, text := range map[string]string{
		"the excerpt of a cause": r.Causes[0].Transcript, "the excerpt of a scenario": r.Scenarios[0].Transcript, "the page": string(rendered(t, FormatHTML, r)),
	} {
		for _, want := range []string{"Connect-Timeout-Ms: abc", "Content-Type: text/plain", "X-Long: decisive", " end\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, text)
			}
		}
	}
	for _, other := range []string{"Host:", "X-Folded", "Vary:"} {
		if strings.Contains(r.Causes[0].Transcript, other) {
			t.Errorf("the excerpt of a cause has %s:\n%s", other, r.Causes[0].Transcript)
		}
	}
}
