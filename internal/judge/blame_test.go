package judge

import (
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// After a Start without a start event later steps have no pid. They are not judged, and this is
// not a defect of Assay.
func TestWhatAStartWithoutAProcessLeavesUndoneIsNotJudged(t *testing.T) {
	p := streamExchange("p")
	p.Op, p.Step, p.Events, p.Frames = "start", "steps[0]", nil, nil
	v := judgeOne(t, scenarioOf(subjects("k", &scenarios.Match{OK: new(true)})), observation(p))
	if v.Conclusion != bundle.Inconclusive || v.Symptom != bundle.SymptomNoStart || !strings.Contains(v.Message, "not judged: step steps[0] (p)") {
		t.Errorf("%s (%s): %s; want it not judged because of the start", v.Conclusion, v.Symptom, v.Message)
	}
}

// A gateway does not fail for lack of optional counters.
func TestAnExpositionWithoutTheCountersIsUnsupportedUnlessTheProfileDemandsThem(t *testing.T) {
	s := scenarioOf(scenarios.Clause{Metrics: map[string]string{"started": "+1"}})
	o := observation(streamExchange("p"))
	for _, name := range []string{"before", "after"} {
		o.Scrapes = append(o.Scrapes, bundle.Scrape{
			Name: name, Iteration: -1, Status: 200, Type: "text/plain", Body: []byte("# TYPE go_threads gauge\ngo_threads 7\n"),
		})
	}
	for _, tc := range []struct {
		require []string
		want    bundle.Conclusion
	}{{nil, bundle.Unsupported}, {[]string{"metrics.prometheus"}, bundle.Fail}} {
		j := &Judge{Profile: &scenarios.Profile{ID: "x", Require: tc.require}}
		verdicts := j.Scenario(s, testRun(), o)
		if got := verdicts[0]; got.Conclusion != tc.want {
			t.Errorf("required %v: %s (%s), want %s", tc.require, got.Conclusion, got.Message, tc.want)
		}
	}
}
