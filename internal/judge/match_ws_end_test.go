package judge

import (
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// A gateway that fails a connection may drop it. Where a close frame is required, that is a breach.
func TestAWebSocketMayEndWithoutACloseFrameWhereTheSetSaysSo(t *testing.T) {
	for name, tc := range map[string]struct {
		legal   []int
		outcome bundle.Outcome
		want    bundle.Conclusion
	}{
		"dropped, which is legal": {[]int{1002, closeWithoutFrame}, bundle.OutcomeClosed, bundle.Pass},
		"reset, which is legal":   {[]int{1002, closeWithoutFrame}, bundle.OutcomeReset, bundle.Pass},
		"dropped":                 {[]int{1002}, bundle.OutcomeClosed, bundle.Fail},
		"still open":              {[]int{1002, closeWithoutFrame}, bundle.OutcomeStalled, bundle.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			x := streamExchange("p")
			x.Shape, x.RPC, x.Outcome, x.Response.Status = bundle.ShapeStdio, "", tc.outcome, 101
			v := judgeOne(t, scenarioOf(subjects("p", &scenarios.Match{Close: tc.legal})), observation(x))
			if v.Conclusion != tc.want {
				t.Errorf("got %s: %s, want %s", v.Conclusion, v.Message, tc.want)
			}
		})
	}
}

// A process that ends by itself without the awaited output is the business of other rules; a gateway that closes its
// session is the one that the script provoked.
func TestAWaitThatTheGatewayCutsBreaksTheRuleThatItProves(t *testing.T) {
	s := &scenarios.Scenario{ID: "area.one", Rules: []string{testRule}, Steps: []scenarios.Step{
		{At: "steps[0]", Start: &scenarios.Start{As: "p", Via: "stdio", Sh: "true"}},
		{At: "steps[1]", Await: &scenarios.Await{On: "p", Output: "never", Proves: testRule}},
	}, Expect: []scenarios.Clause{subjects("p", &scenarios.Match{Stdout: &scenarios.OutputMatch{Contains: new("never")}})}}
	for name, tc := range map[string]struct {
		ended bool
		want  bundle.Conclusion
	}{
		"the gateway closed the session": {false, bundle.Fail},
		"the process ended":              {true, bundle.Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			x := streamExchange("p")
			x.Shape, x.RPC, x.Response.Status = bundle.ShapeStdio, "", 101
			if x.Closing = (&bundle.Closing{Code: 1002}); !tc.ended {
				x.Events = nil
			}
			o := observation(x)
			late := bundle.Stamp{T: x.Returned.T + 1, N: x.Returned.N + 1}
			o.Iterations[0].Awaits = []bundle.Await{{Step: "steps[1]", On: "p", What: bundle.Wait{Kind: bundle.WaitOutput, Of: "never"}, Began: late, Ended: late, Deadline: 1e9}}
			if v := judgeOne(t, s, o); v.Conclusion != tc.want {
				t.Errorf("got %s: %s, want %s", v.Conclusion, v.Message, tc.want)
			}
		})
	}
}
