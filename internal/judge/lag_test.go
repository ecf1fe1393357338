package judge

import (
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// A response that its own time limit cut may be incomplete because the machine was stalled.
func TestWhatALimitCutsIsHeldAgainstTheLagOfTheDriver(t *testing.T) {
	m := &scenarios.Match{Start: new(true), Error: &scenarios.ErrorMatch{Code: []string{"deadline_exceeded"}}, NotBefore: scenarios.Span{Fixed: 180 * time.Millisecond}}
	cut := func(took int64, field, value string) *bundle.Exchange { // before anything came
		x := streamExchange("send")
		x.Request.Headers = append(x.Request.Headers, bundle.Header{Name: field, Value: value})
		x.Events, x.Outputs = nil, nil
		x.Error = &bundle.RPCError{Code: "deadline_exceeded"}
		x.Returned = &bundle.Stamp{T: x.Invoked.T + took, N: 99}
		return x
	}
	for name, tc := range map[string]struct {
		x    *bundle.Exchange
		lag  int64
		want bundle.Conclusion
	}{
		"nothing was late":          {cut(200e6, "Connect-Timeout-Ms", "200"), 0, bundle.Fail},
		"late by less than half":    {cut(200e6, "connect-timeout-ms", "200"), 99e6, bundle.Fail},
		"late by half of the limit": {cut(200e6, "connect-timeout-ms", "200"), 100e6, bundle.Inconclusive},
		"a limit of gRPC":           {cut(200e6, "grpc-timeout", "200m"), 300e6, bundle.Inconclusive},
		"in other units":            {cut(1e9, "Grpc-Timeout", "1S"), 300e6, bundle.Fail},
		"there was no limit":        {cut(200e6, "X-Timeout", "200"), 300e6, bundle.Fail},
		"an invalid limit":          {cut(200e6, "Connect-Timeout-Ms", "-200"), 300e6, bundle.Fail},
		"ended before the limit":    {cut(100e6, "Connect-Timeout-Ms", "200"), 300e6, bundle.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			o := observation(tc.x)
			o.Lag = tc.lag
			v := judgeOne(t, scenarioOf(subjects("send", m)), o)
			if v.Conclusion != tc.want || (tc.want == bundle.Inconclusive) != strings.Contains(v.Message, "; the time limit was") {
				t.Errorf("got %s: %s, want %s", v.Conclusion, v.Message, tc.want)
			}
		})
	}
}

// An unmet wait proves nothing if the driver was late by half of it.
func TestAWaitInVainIsHeldAgainstTheLagOfTheDriver(t *testing.T) {
	await := func(took int64) []bundle.Await {
		return []bundle.Await{{Step: "steps[1]", On: "p", What: waitOf("data"), Began: bundle.Stamp{T: 1e9, N: 80}, Ended: bundle.Stamp{T: 1e9 + took, N: 90}, Deadline: 3e9}}
	}
	for _, tc := range []struct {
		took, lag int64
		want      bundle.Conclusion
	}{
		{3e9, 0, bundle.Fail}, {3e9, 1e9, bundle.Fail}, {3e9, 15e8, bundle.Inconclusive},
		{1e8, 15e8, bundle.Fail}, // nothing more could come
	} {
		o := observation(streamExchange("p"))
		x := &o.Iterations[0].Exchanges[0]
		x.Events, x.EndStream, x.Outcome = x.Events[:2], nil, bundle.OutcomeStalled
		o.Iterations[0].Awaits, o.Lag = await(tc.took), tc.lag
		if v := judgeOne(t, scenarioOf(subjects("p", &scenarios.Match{Ends: "once"})), o); v.Conclusion != tc.want {
			t.Errorf("a wait of %d with a lag of %d: got %s: %s, want %s", tc.took, tc.lag, v.Conclusion, v.Message, tc.want)
		}
	}
}

// A stream that keeps delivering until the absolute limit of a wait may be slow; one that
// stopped long before is stalled.
func TestAStreamThatKeepsDeliveringIsNotBlamedForBeingSlow(t *testing.T) {
	for name, tc := range map[string]struct {
		took, last int64
		want       bundle.Conclusion
	}{
		"output until the end":        {60e9, 59e9, bundle.Inconclusive},
		"no output for a whole limit": {60e9, 50e9, bundle.Fail},
		"the usual limit":             {10e9, 9e9, bundle.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			o := observation(streamExchange("p"))
			x := &o.Iterations[0].Exchanges[0]
			x.Events, x.EndStream, x.Outcome = x.Events[:2], nil, bundle.OutcomeStalled
			x.Outputs = map[string]*bundle.Blob{"stdout": {Len: 3, Chunks: []bundle.Chunk{{Len: 3, At: bundle.Stamp{T: 1e9 + tc.last, N: 85}}}}}
			o.Iterations[0].Awaits = []bundle.Await{{Step: "steps[0]", On: "p", What: bundle.Wait{Kind: bundle.WaitEnd}, Began: bundle.Stamp{T: 1e9, N: 80}, Ended: bundle.Stamp{T: 1e9 + tc.took, N: 90}, Deadline: 10e9}}
			if v := judgeOne(t, scenarioOf(subjects("p", &scenarios.Match{Ends: "once"})), o); v.Conclusion != tc.want {
				t.Errorf("got %s: %s, want %s", v.Conclusion, v.Message, tc.want)
			}
		})
	}
}

// What is missing from an exchange that Assay gave up is only suspected.
func TestWhatIsMissingWhereAssayGaveUpIsOnlySuspected(t *testing.T) {
	s := scenarioOf(subjects("p", &scenarios.Match{End: &scenarios.EndMatch{Code: []int{3}}}))
	for outcome, suspected := range map[bundle.Outcome]bool{
		bundle.OutcomeStalled: true, bundle.OutcomeNoAnswer: true, bundle.OutcomeComplete: false, bundle.OutcomeClosed: false,
	} {
		x := streamExchange("p")
		if x.Outcome = outcome; outcome != bundle.OutcomeComplete {
			x.Events = x.Events[:2]
		}
		if v := judgeOne(t, s, observation(x)); v.Conclusion != bundle.Fail || v.Awaited != suspected {
			t.Errorf("%s: got %s: %s, suspected %v, want %v", outcome, v.Conclusion, v.Message, v.Awaited, suspected)
		}
	}
}

// What came and is wrong is judged where it is seen, whoever ended the exchange afterwards.
func TestWhatIsWrongIsNotSuspectedAlthoughAssayGaveUp(t *testing.T) {
	s := &scene{it: &bundle.Iteration{}}
	for outcome, missing := range map[bundle.Outcome]bool{bundle.OutcomeStalled: true, bundle.OutcomeAborted: false} {
		x := streamExchange("p")
		x.Outcome = outcome
		wrong := finding{grade: violated, symptom: bundle.SymptomOutputOther}
		if s.heldUp(x, wrong).vain || s.givenUp(x, wrong).vain != missing {
			t.Errorf("%s: suspected as wrong %v, as missing %v", outcome, s.heldUp(x, wrong).vain, s.givenUp(x, wrong).vain)
		}
	}
}

// A target may cut a connection because of a time limit, which a driver that is late itself may have exceeded.
func TestWhatATargetCutsOffIsOnlySuspectedIfThisDriverWasLate(t *testing.T) {
	s := scenarioOf(subjects("p", &scenarios.Match{End: &scenarios.EndMatch{Code: []int{3}}}))
	for _, outcome := range []bundle.Outcome{bundle.OutcomeReset, bundle.OutcomeClosed, bundle.OutcomeComplete} {
		for _, lag := range []time.Duration{lateDriver - 1, lateDriver} {
			x := streamExchange("p")
			if x.Outcome = outcome; outcome != bundle.OutcomeComplete {
				x.Events = x.Events[:2]
			}
			o := observation(x)
			o.Lag = int64(lag)
			suspected := outcome != bundle.OutcomeComplete && lag == lateDriver
			if v := judgeOne(t, s, o); v.Conclusion != bundle.Fail || v.Awaited != suspected {
				t.Errorf("%s, %v late: got %s: %s, suspected %v, want %v", outcome, lag, v.Conclusion, v.Message, v.Awaited, suspected)
			}
		}
	}
}
