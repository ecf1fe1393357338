package judge

import (
	"slices"
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// repeats is an observation of one run of the steps for each exit code.
func repeats(codes ...int) *bundle.Observation {
	var all *bundle.Observation
	for i, code := range codes {
		x := streamExchange("send")
		x.Events[2].Exit = &bundle.Exit{Code: int32(code), Exited: true, Status: "exit status"}
		o := observation(x)
		o.Iterations[0].Index = i
		if all == nil {
			all = o
			continue
		}
		all.Iterations = append(all.Iterations, o.Iterations...)
	}
	return all
}

func TestARuleThatHoldsInSomeRepeatsAndNotInOthersIsFlaky(t *testing.T) {
	wants := scenarioOf(subjects("send", &scenarios.Match{End: &scenarios.EndMatch{Code: []int{0}}}))
	pairs := *wants
	pairs.Repeat.Times = 2
	sweeping := *wants
	sweeping.Sweep = map[string]scenarios.Range{"d": {}}
	should := &scenarios.Catalogue{Rules: []*scenarios.Rule{{ID: testRule, Level: "should"}}}
	for name, c := range map[string]struct {
		script *scenarios.Scenario
		rules  *scenarios.Catalogue
		repeat int
		codes  []int
		want   bundle.Conclusion
		failed bundle.Repeats
	}{
		"some repeats fail":                          {wants, nil, 5, []int{0, 1, 0, 0, 1}, bundle.Flaky, bundle.Repeats{Failed: 2, Of: 5}},
		"all repeats fail":                           {wants, nil, 3, []int{1, 1, 1}, bundle.Fail, bundle.Repeats{}},
		"no repeat fails":                            {wants, nil, 3, []int{0, 0, 0}, bundle.Pass, bundle.Repeats{}},
		"the script's own iterations are no repeats": {&pairs, nil, 1, []int{0, 1}, bundle.Fail, bundle.Repeats{}},
		"a repeat is all iterations of the script":   {&pairs, nil, 2, []int{0, 1, 0, 0}, bundle.Flaky, bundle.Repeats{Failed: 1, Of: 2}},
		"each repeat has an iteration that fails":    {&pairs, nil, 2, []int{0, 1, 1, 0}, bundle.Fail, bundle.Repeats{}},
		"the iterations of a race differ on purpose": {&sweeping, nil, 5, []int{0, 1, 0, 0, 1}, bundle.Fail, bundle.Repeats{}},
		"a broken should stays an advisory":          {wants, should, 5, []int{0, 1}, bundle.Advisory, bundle.Repeats{}},
		"a run stored before repeats were recorded":  {wants, nil, 0, []int{0, 1}, bundle.Fail, bundle.Repeats{}},
	} {
		t.Run(name, func(t *testing.T) {
			run := testRun()
			run.Repeat = c.repeat
			vs := (&Judge{Rules: c.rules}).Scenario(c.script, run, repeats(c.codes...))
			if len(vs) != 1 || vs[0].Conclusion != c.want {
				t.Fatalf("got %+v, want %s", vs, c.want)
			}
			if differ := len(slices.Compact(slices.Sorted(slices.Values(c.codes)))) > 1; vs[0].Varied != (differ && !mixed(c.script)) {
				t.Errorf("varied: %t", vs[0].Varied)
			}
			if got := vs[0].Repeats; (got == nil) != (c.failed.Of == 0) || got != nil && *got != c.failed {
				t.Errorf("repeats %+v, want %+v", got, c.failed)
			}
		})
	}
}

func TestTheMessageOfAFlakyRuleSaysHowOftenItFailed(t *testing.T) {
	run := testRun()
	run.Repeat = 3
	s := scenarioOf(subjects("send", &scenarios.Match{End: &scenarios.EndMatch{Code: []int{0}}}))
	wantVerdict(t, (&Judge{}).Scenario(s, run, repeats(0, 1, 0))[0], bundle.Flaky,
		"failed in 1 of 3 repeats: iteration 1: exit code: want 0, saw 1 (end event, frame 2, body offset 50)")
}

func TestAStandingRuleIsFlakyToo(t *testing.T) {
	o := repeats(0, 0)
	o.Iterations[1].Exchanges[0].Response.Trailers = headers("X-Late", "1")
	run := testRun()
	run.Repeat = 2
	vs := (&Judge{Rules: ruled("check:http-trailers")}).Scenario(scenarioWithoutRules(), run, o)
	if len(vs) != 1 || vs[0].Conclusion != bundle.Flaky || vs[0].Repeats.Failed != 1 {
		t.Errorf("got %+v", vs)
	}
}

// Counters are compared once for all iterations, so that no repeat is known to be right.
func TestABreachOfAllIterationsTogetherIsNotFlaky(t *testing.T) {
	run := testRun()
	run.Repeat = 2
	c := subjects("send", &scenarios.Match{End: &scenarios.EndMatch{Code: []int{0}}})
	s := scenarioOf(c)
	o := repeats(0, 1)
	t1 := (&Judge{}).clauses(s, run, o)[testRule]
	t1.add(finding{grade: violated})
	v := bundle.Verdict{Conclusion: bundle.Fail}
	if wavers(&v, s, run, t1); v.Conclusion != bundle.Fail {
		t.Errorf("got %s", v.Conclusion)
	}
}
