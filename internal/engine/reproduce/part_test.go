package reproduce

import (
	"testing"

	"assay/internal/judge"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

func TestWhatIsNotOnTheConnectionBreaksNoRuleOfAText(t *testing.T) {
	f := second(bundle.Exchange{Op: "start"}, bundle.Exchange{Op: "start"})
	p := &f.Observation.Iterations[0].Exchanges[0]
	p.Outcome, p.Response = bundle.OutcomeComplete, &bundle.Response{Status: 500}
	f.Instance.Scenario.Steps = []scenarios.Step{{At: "steps[0]", Start: &scenarios.Start{}}, {At: "steps[1]", Start: &scenarios.Start{}}, {At: "steps[2]", Await: &scenarios.Await{On: "x"}}}
	status := func(n int) *scenarios.Match { return &scenarios.Match{Status: []int{n}} }
	f.Instance.Scenario.Expect = []scenarios.Clause{
		{Rule: "r.s", Subjects: map[string]*scenarios.Match{"p": status(200)}},
		{Rule: "r.s", Subjects: map[string]*scenarios.Match{"p": status(200), "x": status(500)}},
	}
	s, err := sourceOf(f)
	if err != nil {
		t.Fatal(err)
	}
	seen := *f.Observation
	seen.Iterations = []bundle.Iteration{{Conns: seen.Iterations[0].Conns[:1], Exchanges: seen.Iterations[0].Exchanges[:1]}}
	j, run := &judge.Judge{Rules: &scenarios.Catalogue{}}, &bundle.Run{}
	if v := verdictOf(j, run, s.part(), &seen); v == nil || v.Conclusion == bundle.Fail {
		t.Errorf("a call outside the part breaks the rule: %+v", v)
	}
	if got := s.part().Instance.Scenario.Steps; len(got) != 1 || got[0].At != "steps[1]" {
		t.Errorf("the steps are %+v", got)
	}
	f.Instance.Scenario.Expect[1].Subjects["x"] = status(200)
	if v := verdictOf(j, run, s.part(), &seen); v == nil || v.Conclusion != bundle.Fail {
		t.Errorf("the expectation of the call is not judged: %+v", v)
	}
}
