package judge

import (
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// What Assay did not read decides nothing; a wrong event in the part that it read does.
func TestAnUnreadResponseDecidesOnlyWhatWasRead(t *testing.T) {
	const why = "the memory for records (128 MB) is used up"
	yes := true
	for name, tc := range map[string]struct {
		match  scenarios.Match
		events []bundle.EventKind
		want   bundle.Conclusion
	}{
		"an event that was not read": {scenarios.Match{End: &scenarios.EndMatch{Code: []int{0}}}, []bundle.EventKind{bundle.EventStart}, bundle.Inconclusive},
		"no forbidden event so far":  {scenarios.Match{Never: []scenarios.EventMatch{{Event: "keepalive"}}}, []bundle.EventKind{bundle.EventStart}, bundle.Inconclusive},
		"a forbidden event":          {scenarios.Match{Never: []scenarios.EventMatch{{Event: "keepalive"}}}, []bundle.EventKind{bundle.EventStart, bundle.EventKeepAlive}, bundle.Fail},
		"start is not first":         {scenarios.Match{Start: &yes}, []bundle.EventKind{bundle.EventKeepAlive}, bundle.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			x := streamExchange("p")
			x.Outcome, x.Unread, x.Events, x.Frames, x.EndStream = bundle.OutcomeAborted, why, nil, nil, nil
			for i, kind := range tc.events {
				x.Events = append(x.Events, bundle.Event{Kind: kind, Frame: i})
				x.Frames = append(x.Frames, bundle.Frame{Off: int64(10 * i), Len: 5, Event: i})
			}
			v := judgeOne(t, scenarioOf(subjects("p", &tc.match)), observation(x))
			if v.Conclusion != tc.want || (tc.want == bundle.Inconclusive) != strings.Contains(v.Message, why) {
				t.Errorf("got %s: %s, want %s", v.Conclusion, v.Message, tc.want)
			}
		})
	}
}
