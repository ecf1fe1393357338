package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// What did not come in time is a suspicion; bytes that break a rule, and what is missing from a complete response, are
// not.
func TestOnlyWhatDidNotComeIsASuspicion(t *testing.T) {
	s := scenarioOf(subjects("send", &scenarios.Match{
		End: &scenarios.EndMatch{Code: []int{0}}, Within: scenarios.Span{Fixed: time.Second}, NotBefore: scenarios.Span{Fixed: time.Millisecond},
	}))
	for name, c := range map[string]struct {
		change func(*bundle.Exchange)
		want   []string
	}{
		"too late":  {func(x *bundle.Exchange) { x.Returned.T += int64(time.Minute) }, []string{"time, connect over 1.1"}},
		"too early": {func(x *bundle.Exchange) { x.Returned.T = x.Invoked.T }, nil},
		"a response that does not end": {func(x *bundle.Exchange) {
			x.Events, x.EndStream, x.Outcome = x.Events[:2], nil, bundle.OutcomeStalled
		}, []string{"stalled, connect over 1.1"}},
		"no response": {func(x *bundle.Exchange) {
			x.Events, x.EndStream, x.Response, x.Outcome = nil, nil, nil, bundle.OutcomeNoAnswer
		}, []string{"no-answer, connect over 1.1"}},
		"no end in a complete response": {func(x *bundle.Exchange) { x.Events = x.Events[:2] }, nil},
		"a wrong code":                  {func(x *bundle.Exchange) { x.Events[2].Exit = &bundle.Exit{Code: 3, Exited: true} }, nil},
		"a cut connection": {func(x *bundle.Exchange) {
			x.Events, x.EndStream, x.Outcome = x.Events[:2], nil, bundle.OutcomeClosed
		}, nil},
		"nothing wrong": {func(*bundle.Exchange) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			x := streamExchange("send")
			c.change(x)
			o := observation(x)
			o.Axes = bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "1.1"}
			if got := Suspicions((&Judge{}).Scenario(s, testRun(), o)); !slices.Equal(got, c.want) {
				t.Errorf("suspicions %q, want %q", got, c.want)
			}
		})
	}
}

// A response that came after the limits of all legal ones might have been one of them in time.
func TestAChoiceThatCameTooLateIsASuspicion(t *testing.T) {
	soon := scenarios.Span{Fixed: time.Second}
	for name, c := range map[string]struct {
		of   []scenarios.NamedMatch
		want bool
	}{
		"all too late":               {[]scenarios.NamedMatch{{Name: "a", Match: scenarios.Match{Within: soon}}}, true},
		"the other one is wrong":     {[]scenarios.NamedMatch{{Name: "a", Match: scenarios.Match{Status: []int{404}}}, {Name: "b", Match: scenarios.Match{Within: soon}}}, true},
		"wrong, whenever it arrives": {[]scenarios.NamedMatch{{Name: "a", Match: scenarios.Match{Status: []int{404}, Within: soon}}}, false},
	} {
		x := streamExchange("send")
		x.Returned.T += int64(time.Minute)
		s := scenarioOf(subjects("send", &scenarios.Match{Any: c.of}))
		if v := (&Judge{}).Scenario(s, testRun(), observation(x))[0]; v.Conclusion != bundle.Fail || v.Awaited != c.want {
			t.Errorf("%s: %s, a suspicion: %v", name, v.Conclusion, v.Awaited)
		}
	}
}

// What a connection lacks may not have come yet when Assay closes it. After the peer has closed it, nothing can come; and
// what came is judged, whoever closed it.
func TestWhatAConnectionLacksIsASuspicionUntilThePeerClosesIt(t *testing.T) {
	for by, want := range map[string]bool{"us": true, "peer": false} {
		o := observation()
		o.Iterations[0].Conns = []bundle.Conn{{Name: "c", HTTP: "2", Ended: &bundle.ConnEnd{By: by, How: "fin"}}}
		s := scenarioOf(subjects("c", &scenarios.Match{H2: []string{"PING-ACK"}}))
		if v := (&Judge{}).Scenario(s, testRun(), o)[0]; v.Conclusion != bundle.Fail || v.Awaited != want {
			t.Errorf("closed by %s: %s (%s), a suspicion: %v", by, v.Conclusion, v.Message, v.Awaited)
		}
		o.Iterations[0].Conns[0].H2 = []bundle.H2Frame{{Dir: "received", Type: "PUSH_PROMISE"}}
		s = scenarioOf(subjects("c", &scenarios.Match{H2Never: []string{"PUSH_PROMISE"}}))
		if v := (&Judge{}).Scenario(s, testRun(), o)[0]; v.Conclusion != bundle.Fail || v.Awaited {
			t.Errorf("a wrong frame, closed by %s: %s (%s), a suspicion: %v", by, v.Conclusion, v.Message, v.Awaited)
		}
	}
}

// A poll waits for a state, so another state at its end is a suspicion.
func TestAStateThatAPollDoesNotSeeIsASuspicion(t *testing.T) {
	for poll, want := range map[string]bool{"": false, ", poll: 3s": true} {
		s := parsed(t, "id: area.one\ntitle: One\nrules: [http.message.syntax]\nsteps:\n"+
			"  - send: {as: got, surface: health"+poll+"}\nexpect:\n  got: {status: 502}\n")
		x := unaryExchange("got")
		x.Step = "steps[0]"
		if v := (&Judge{}).Scenario(s, testRun(), observation(x))[0]; v.Conclusion != bundle.Fail || v.Awaited != want {
			t.Errorf("%q: %s (%s), a suspicion: %v", poll, v.Conclusion, v.Message, v.Awaited)
		}
	}
}

// A command may not have begun when the time limit of its request ended it.
func TestWhatATimeLimitCutOffIsASuspicion(t *testing.T) {
	s := scenarioOf(subjects("send", &scenarios.Match{Stdout: &scenarios.OutputMatch{Contains: new("so far")}}))
	for limit, want := range map[string]bool{"1": true, "600000": false} {
		x := withError(streamExchange("send"), 200, "deadline_exceeded", "")
		x.Events, x.Outputs = x.Events[:1], nil
		x.Request.Headers = append(x.Request.Headers, headers("Connect-Timeout-Ms", limit)...)
		if v := (&Judge{}).Scenario(s, testRun(), observation(x))[0]; v.Conclusion != bundle.Fail || v.Awaited != want {
			t.Errorf("%s ms: %s (%s), a suspicion: %v", limit, v.Conclusion, v.Message, v.Awaited)
		}
	}
}

// Input that was given up may not have arrived when the process ended.
func TestWhatAProcessLacksWhoseInputWasGivenUpIsASuspicion(t *testing.T) {
	s := scenarioOf(subjects("send", &scenarios.Match{Stdout: &scenarios.OutputMatch{Contains: new("input")}}))
	for outcome, want := range map[bundle.Outcome]bool{bundle.OutcomeStalled: true, bundle.OutcomeComplete: false} {
		x, in := streamExchange("send"), unaryExchange("in")
		x.Events, x.Outputs = slices.Delete(x.Events, 1, 2), nil
		in.Outcome, in.Invoked = outcome, x.Invoked
		x.Returned.N, x.Returned.T = 1e6, 1e9
		if v := (&Judge{}).Scenario(s, testRun(), observation(x, in))[0]; v.Conclusion != bundle.Fail || v.Awaited != want {
			t.Errorf("%s: %s (%s), a suspicion: %v", outcome, v.Conclusion, v.Message, v.Awaited)
		}
	}
}

// What is compared with an answer that is missing is not judged.
func TestWhatIsComparedWithAMissingAnswerIsNotJudged(t *testing.T) {
	whole, stalled := unaryExchange("rest"), unaryExchange("rest")
	whole.ID, stalled.ID, stalled.Outcome = 7, 7, bundle.OutcomeStalled
	for name, c := range map[string]struct {
		rest *bundle.Exchange
		want bundle.Conclusion
	}{
		"never sent": {nil, bundle.Inconclusive}, "not complete": {stalled, bundle.Inconclusive}, "complete, without it": {whole, bundle.Fail},
	} {
		o := observation(unaryExchange("two"))
		if c.rest != nil {
			o = observation(unaryExchange("two"), c.rest)
		}
		o.Iterations[0].Awaits = []bundle.Await{{What: bundle.Wait{Kind: bundle.WaitTime}, Deadline: 1, Ended: bundle.Stamp{T: 1e9, N: 1e6}}}
		s := scenarioOf(subjects("two", &scenarios.Match{Body: &scenarios.BodyMatch{Text: new("${rest.json.id}")}}))
		if v := (&Judge{}).Scenario(s, testRun(), o)[0]; v.Conclusion != c.want {
			t.Errorf("%s: %s (%s), want %s", name, v.Conclusion, v.Message, c.want)
		}
	}
}

func TestASuspicionIsJudgedByTheSecondPass(t *testing.T) {
	s := scenarioOf(subjects("send", &scenarios.Match{End: &scenarios.EndMatch{Code: []int{0}}}))
	stalled := func() *bundle.Observation {
		x := streamExchange("send")
		x.Events, x.EndStream, x.Outcome = x.Events[:2], nil, bundle.OutcomeStalled
		return observation(x)
	}
	wrong := func() *bundle.Observation { return repeats(3) }
	const saw = "want a complete response, saw a response that had not ended by the deadline (after 4 frames)"
	for name, c := range map[string]struct {
		first   *bundle.Observation
		confirm *bundle.Confirmation
		want    bundle.Conclusion
		message string
	}{
		"no second pass":   {stalled(), nil, bundle.Fail, saw},
		"the same alone":   {stalled(), &bundle.Confirmation{Alone: stalled(), Tries: 1}, bundle.Fail, saw + "; it was the same alone, with nothing beside it"},
		"the same later":   {stalled(), &bundle.Confirmation{Alone: stalled(), Tries: 3}, bundle.Fail, saw + "; it was the same alone, with nothing beside it, in try 3"},
		"another breach":   {stalled(), &bundle.Confirmation{Alone: wrong(), Tries: 1}, bundle.Fail, saw + "; it was the same alone, with nothing beside it"},
		"well alone":       {stalled(), &bundle.Confirmation{Alone: repeats(0), Tries: 5}, bundle.Inconclusive, "seen once, and not again in 5 attempts alone: " + saw},
		"like another":     {stalled(), &bundle.Confirmation{Like: "a.b"}, bundle.Fail, saw + "; alone, a.b showed the same, so this was not tried again"},
		"not tried":        {stalled(), &bundle.Confirmation{Untried: "the target was gone"}, bundle.Inconclusive, "seen once, and not tried again alone, since the target was gone: " + saw},
		"what was seen":    {wrong(), &bundle.Confirmation{Untried: "the target was gone"}, bundle.Fail, "exit code: want 0, saw 3 (end event, frame 2, body offset 50)"},
		"nothing is wrong": {repeats(0), nil, bundle.Pass, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.first.Confirm = c.confirm
			wantVerdict(t, (&Judge{}).Scenario(s, testRun(), c.first)[0], c.want, c.message)
		})
	}
}

// What is missing because the target died is nobody's breach, also if its death was found afterwards; what was wrong
// before it died, is.
func TestWhatIsMissingAfterADeathIsNotJudged(t *testing.T) {
	cut := func() *bundle.Observation {
		x := streamExchange("send")
		x.Events, x.EndStream, x.Outcome = x.Events[:2], nil, bundle.OutcomeClosed
		return observation(x)
	}
	of := func(scenario string) []bundle.Death { return []bundle.Death{{Scenario: scenario, Back: 1}} }
	for name, c := range map[string]struct {
		o      *bundle.Observation
		died   bool
		deaths []bundle.Death
		about  bool // the scenario is about death
		want   bundle.Conclusion
	}{
		"it lives":                    {cut(), false, nil, false, bundle.Fail},
		"it died meanwhile":           {cut(), true, nil, false, bundle.Inconclusive},
		"it died of it again":         {cut(), false, of("test.script"), false, bundle.Inconclusive},
		"it died of another":          {cut(), false, of("test.other"), false, bundle.Fail},
		"wrong before it died":        {repeats(3), true, of("test.script"), false, bundle.Fail},
		"a scenario that is about it": {cut(), true, of("test.script"), true, bundle.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			s := scenarioOf(subjects("send", &scenarios.Match{End: &scenarios.EndMatch{Code: []int{0}}}))
			s.Destructive = c.about
			run := testRun()
			run.Deaths, c.o.Died, c.o.Scenario = c.deaths, c.died, "test.script"
			if v := (&Judge{}).Scenario(s, run, c.o)[0]; v.Conclusion != c.want {
				t.Errorf("%s: %s, want %s", v.Conclusion, v.Message, c.want)
			}
		})
	}
}

// A process that a try alone left behind affects the next run as any other does.
func TestAProcessLeftByATryAloneIsNamed(t *testing.T) {
	alone, first := observation(), observation()
	alone.Iterations[0].Processes = []bundle.Process{{Name: "p", PID: 7, Cleanup: "failed: no answer"}}
	first.Confirm = &bundle.Confirmation{Alone: alone, Tries: 1}
	if v, ok := (&Judge{}).leftovers(nil, []*bundle.Observation{nil, first}); !ok || !strings.Contains(v.Message, "pid 7 (p of ") {
		t.Errorf("%v: %+v", ok, v)
	}
}
