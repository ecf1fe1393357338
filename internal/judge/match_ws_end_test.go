package judge

import (
	"testing"

	"assay/internal/bundle"
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
			x.Shape, x.RPC, x.Outcome, x.Response.Status = bundle.ShapeStdio, "", tc.outcome, statusUpgraded
			v := judgeOne(t, scenarioOf(subjects("p", &scenarios.Match{Close: tc.legal})), observation(x))
			if v.Conclusion != tc.want {
				t.Errorf("got %s: %s, want %s", v.Conclusion, v.Message, tc.want)
			}
		})
	}
}
