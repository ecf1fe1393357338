package judge

import (
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

func brokenScenario() (*scenarios.Scenario, *bundle.Observation) {
	return scenarioOf(subjects("send", &scenarios.Match{End: &scenarios.EndMatch{Code: []int{3}}})), observation(streamExchange("send"))
}

const brokenMessage = "exit code: want 3, saw 0 (end event, frame 2, body offset 50)"

func TestLevelsAndProfiles(t *testing.T) {
	catalogue := func(level string) *scenarios.Catalogue {
		return &scenarios.Catalogue{Rules: []*scenarios.Rule{{ID: testRule, Level: level}}}
	}
	cases := []struct {
		name    string
		judge   Judge
		want    bundle.Conclusion
		level   string
		message string
	}{
		{"a broken must fails", Judge{Rules: catalogue("must")}, bundle.Fail, "must", brokenMessage},
		{"a broken should is an advisory", Judge{Rules: catalogue("should")}, bundle.Advisory, "should", brokenMessage},
		{"a broken may is an advisory", Judge{Rules: catalogue("may")}, bundle.Advisory, "may", brokenMessage},
		{"strict makes a should fail", Judge{Rules: catalogue("should"), Strict: true}, bundle.Fail, "should", brokenMessage},
		{"a profile raises a rule", Judge{Rules: catalogue("may"), Profile: &scenarios.Profile{ID: "e2b",
			Levels: map[string]scenarios.LevelChange{testRule: {Level: "must", Reason: "SDKs need it"}}}}, bundle.Fail, "must", brokenMessage},
		{"a profile allows a breach by name", Judge{Rules: catalogue("must"), Profile: &scenarios.Profile{ID: "e2b",
			Deviations: map[string]scenarios.Deviation{testRule: {Reason: "the daemon does so"}}}}, bundle.Deviation, "must",
			"allowed by profile e2b (the daemon does so): " + brokenMessage},
		{"an unknown rule is a must", Judge{}, bundle.Fail, "must", brokenMessage},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, o := brokenScenario()
			vs := c.judge.Scenario(s, testRun(), o)
			if len(vs) != 1 {
				t.Fatalf("got %d verdicts", len(vs))
			}
			wantVerdict(t, vs[0], c.want, c.message)
			if vs[0].Level != c.level {
				t.Errorf("level %s, want %s", vs[0].Level, c.level)
			}
		})
	}
}

func TestWhatWasNotRun(t *testing.T) {
	cases := []struct {
		skip    bundle.Skip
		want    bundle.Conclusion
		message string
	}{
		{bundle.Skip{Reason: bundle.SkipFeature, Detail: "process.pty"}, bundle.Unsupported, "the target lacks a feature that the scenario needs: process.pty"},
		{bundle.Skip{Reason: bundle.SkipSlow, Detail: "--slow runs it"}, bundle.NotRun, "not requested: --slow runs it"},
		{bundle.Skip{Reason: bundle.SkipDestructive}, bundle.NotRun, "not requested"},
		{bundle.Skip{Reason: bundle.SkipInterrupted}, bundle.NotRun, "the run was interrupted before this scenario"},
		{bundle.Skip{Reason: bundle.SkipTargetGone}, bundle.NotRun, "the target was gone"},
		{bundle.Skip{Reason: bundle.SkipStalled, Detail: "why"}, bundle.NotRun, "the target does not answer in this way: why"},
		{bundle.Skip{Reason: bundle.SkipBudget}, bundle.NotRun, "the time budget of the run was spent before this scenario"},
		{bundle.Skip{Reason: bundle.SkipUnanswered, Detail: "why"}, bundle.Inconclusive, "not tried: why"},
	}
	for _, c := range cases {
		t.Run(string(c.skip.Reason), func(t *testing.T) {
			s, o := brokenScenario()
			o.Skip, o.Iterations = &c.skip, nil
			wantVerdict(t, judgeOne(t, s, o), c.want, c.message)
		})
	}
}

func TestInterruptedObservations(t *testing.T) {
	s, o := brokenScenario()
	o.Interrupted = true
	wantVerdict(t, judgeOne(t, s, o), bundle.Fail, brokenMessage)

	o.Iterations[0].Exchanges[0].Outcome = bundle.OutcomeAborted
	wantVerdict(t, judgeOne(t, s, o), bundle.NotRun, "interrupted before the rule could be judged")

	o.Iterations = nil
	wantVerdict(t, judgeOne(t, s, o), bundle.NotRun, "interrupted before the rule could be judged")
}

func TestDefectsAreOurs(t *testing.T) {
	s := scenarioOf(subjects("send", &scenarios.Match{OK: new(true)}))
	o := observation(streamExchange("send"))
	o.Defect = "step 3: no such variable"
	wantVerdict(t, judgeOne(t, s, o), bundle.Error, "a defect of Assay: step 3: no such variable")

	s, o = brokenScenario()
	o.Iterations[0].Defect = "x"
	wantVerdict(t, judgeOne(t, s, o), bundle.Fail, brokenMessage+"; in addition, a defect of Assay: x")
}

func TestStepsThatWereNeverReached(t *testing.T) {
	s := scenarioOf(subjects("k", &scenarios.Match{OK: new(true)}))
	cases := []struct {
		name    string
		change  func(*bundle.Iteration)
		want    bundle.Conclusion
		message string
	}{
		{"because the target did not respond", func(it *bundle.Iteration) {
			it.Exchanges[0].Outcome, it.Exchanges[0].Response, it.Exchanges[0].Events = bundle.OutcomeNoAnswer, nil, nil
		}, bundle.Inconclusive, "k: not judged: step steps[0] (p): no response before the deadline (after 4 frames)"},
		{"because the target refused the start", func(it *bundle.Iteration) {
			it.Exchanges[0].Op, it.Exchanges[0].Error, it.Exchanges[0].Events = "start", &bundle.RPCError{Code: "internal"}, nil
		}, bundle.Inconclusive, "k: not judged: step steps[0] (p): HTTP 200, error internal"},
		{"because an await was not met", func(it *bundle.Iteration) {
			it.Awaits = []bundle.Await{{Step: "steps[1].await", On: "p", What: waitOf("data"), Ended: bundle.Stamp{T: 2e9, N: 2}}}
		}, bundle.Inconclusive, "k: not judged: data did not come on p within 2s"},
		{"for no visible reason", func(*bundle.Iteration) {}, bundle.Error,
			"k: the step was never executed, although every precondition held"},
		{"after the script aborted an exchange", func(it *bundle.Iteration) {
			it.Exchanges[0].Outcome, it.Exchanges[0].Aborted = bundle.OutcomeReset, true
		}, bundle.Error, "k: the step was never executed, although every precondition held"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := observation(streamExchange("p"))
			c.change(&o.Iterations[0])
			wantVerdict(t, judgeOne(t, s, o), c.want, c.message)
		})
	}
}

func TestWhatTheCleanUpBrokeOff(t *testing.T) {
	s := scenarioOf(subjects("p", &scenarios.Match{End: &scenarios.EndMatch{Code: []int{0}}}))
	o := observation(streamExchange("p"))
	x := &o.Iterations[0].Exchanges[0]
	x.Events, x.EndStream, x.Outcome = x.Events[:2], nil, bundle.OutcomeAborted
	v := judgeOne(t, s, o)
	if v.Conclusion != bundle.Error || !strings.Contains(v.Message, "Assay aborted the exchange") {
		t.Errorf("every precondition held: got %s: %s", v.Conclusion, v.Message)
	}
	o.Iterations[0].Awaits = []bundle.Await{{Step: "steps[1]", On: "p", What: waitOf("data"), Ended: bundle.Stamp{T: 2e9, N: 90}}}
	v = judgeOne(t, s, o)
	if v.Conclusion != bundle.Inconclusive || !strings.Contains(v.Message, "not judged: data did not come on p within 2s") {
		t.Errorf("an await was not met: got %s: %s", v.Conclusion, v.Message)
	}
}

func TestIterationsAreNamedAndCounted(t *testing.T) {
	s := scenarioOf(subjects("p", &scenarios.Match{Ends: "once"}))
	o := observation(streamExchange("p"))
	o.Iterations = append(o.Iterations, observation(streamExchange("p")).Iterations[0], observation(streamExchange("p")).Iterations[0])
	for i := range o.Iterations {
		o.Iterations[i].Index = i
	}
	wantVerdict(t, judgeOne(t, s, o), bundle.Pass, "")
	for _, i := range []int{1, 2} {
		x := &o.Iterations[i].Exchanges[0]
		x.Events = append(x.Events, x.Events[2])
	}
	wantVerdict(t, judgeOne(t, s, o), bundle.Fail,
		"iteration 1: p: end events: want exactly one, saw 2 (the second: frame 2, body offset 50) (2 breaches in 3 iterations)")
}

func TestAClauseProvesItsRule(t *testing.T) {
	s := &scenarios.Scenario{ID: "area.one", Rules: []string{"a.b.unnamed", "a.b.named"}, Expect: []scenarios.Clause{
		{Rule: "a.b.named", Subjects: map[string]*scenarios.Match{"send": {OK: new(true)}}},
		{Subjects: map[string]*scenarios.Match{"send": {End: &scenarios.EndMatch{Code: []int{3}}}}},
	}}
	vs := (&Judge{}).Scenario(s, testRun(), observation(streamExchange("send")))
	if len(vs) != 2 || vs[0].Rule != "a.b.named" || vs[1].Rule != "a.b.unnamed" {
		t.Fatalf("got %+v", vs)
	}
	wantVerdict(t, vs[0], bundle.Pass, "")
	wantVerdict(t, vs[1], bundle.Fail, brokenMessage)
}

func TestARuleWithoutExpectationIsInconclusive(t *testing.T) {
	s := &scenarios.Scenario{ID: "area.one", Rules: []string{testRule}}
	wantVerdict(t, judgeOne(t, s, observation(streamExchange("send"))), bundle.Inconclusive,
		"no expectation of the scenario could be checked")
}

func TestSequenceOfInstants(t *testing.T) {
	o := observation(streamExchange("p"), unaryExchange("k"))
	c := scenarios.Clause{Sequence: []string{"p.start", "p.data", "p.end", "p.end-stream", "k.returned"}}
	wantVerdict(t, judgeOne(t, scenarioOf(c), o), bundle.Pass, "")
	c.Sequence = []string{"k.invoked", "p.end"}
	wantVerdict(t, judgeOne(t, scenarioOf(c), o), bundle.Fail, "want p.end after k.invoked, saw it 95ms earlier")
	c.Sequence = []string{"p.start", "p.keepalive"}
	wantVerdict(t, judgeOne(t, scenarioOf(c), o), bundle.Fail, "p.keepalive never came (HTTP 200, events start data end, ended with code 0)")
	c.Sequence = []string{"p.birth"}
	wantVerdict(t, judgeOne(t, scenarioOf(c), o), bundle.Error, `the script names the instant "p.birth", which is not known`)
}

func TestParityOfTwoSurfaces(t *testing.T) {
	c := scenarios.Clause{Parity: []string{"p", "n"}}
	pair := func(change func(p, n *bundle.Exchange)) *bundle.Observation {
		p, n := streamExchange("p"), ndjsonExchange("n")
		change(p, n)
		return observation(p, n)
	}
	cases := []struct {
		name    string
		change  func(p, n *bundle.Exchange)
		want    bundle.Conclusion
		message string
	}{
		{"the same", func(_, _ *bundle.Exchange) {}, bundle.Pass, ""},
		{"keepalives and cuts do not matter", func(p, _ *bundle.Exchange) {
			p.Events = append(p.Events[:2:2], bundle.Event{Kind: bundle.EventKeepAlive}, p.Events[1], p.Events[2])
		}, bundle.Pass, ""},
		{"another exit code", func(_, n *bundle.Exchange) { n.Events[2].Exit.Code = 1 }, bundle.Fail,
			"parity: the exit code differs: p has 0, n has 1"},
		{"another output", func(_, n *bundle.Exchange) { n.Outputs["stdout"] = new(bundle.NewBlob([]byte("help"), nil)) }, bundle.Fail,
			`parity: stdout differs at byte 3: p has "lo\n", n has "p"`},
		{"output that is not UTF-8 is not compared", func(p, n *bundle.Exchange) {
			p.Outputs["stdout"] = new(bundle.NewBlob([]byte("\xff"), nil))
			n.Outputs["stdout"] = new(bundle.NewBlob([]byte("\uFFFD"), nil))
		}, bundle.Pass, ""},
		{"other events", func(_, n *bundle.Exchange) { n.Events = n.Events[:2] }, bundle.Fail,
			`parity: the order of events differs: p has "start data end", n has "start data"`},
	}
	for _, c2 := range cases {
		t.Run(c2.name, func(t *testing.T) {
			wantVerdict(t, judgeOne(t, scenarioOf(c), pair(c2.change)), c2.want, c2.message)
		})
	}
}

func TestPlacesOfAThinnedAnswerHaveNoNumber(t *testing.T) {
	x := streamExchange("p")
	if got, want := place(x, 2), "frame 2, body offset 50"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	x.Frames[2].Off += 1 << 20
	if got, want := place(x, 2), "body offset 1048626"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnExpectedErrorIsNoReason(t *testing.T) {
	s := scenarioOf(subjects("last", &scenarios.Match{OK: new(true)}))
	o := observation(withError(unaryExchange("k"), 404, "not_found", ""), streamExchange("p"))
	p := &o.Iterations[0].Exchanges[1]
	p.Outcome, p.Step = bundle.OutcomeStalled, "steps[4]"
	p.Returned = &bundle.Stamp{T: 9e9, N: 900}
	v := judgeOne(t, s, o)
	if want := "not judged: step steps[4] (p): "; v.Conclusion != bundle.Inconclusive || !strings.Contains(v.Message, want) {
		t.Errorf("got %s: %s, want %q in it", v.Conclusion, v.Message, want)
	}
}
