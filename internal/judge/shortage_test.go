package judge

import (
	"strings"
	"testing"

	"assay/internal/bundle"
	"assay/scenarios"
)

// A failure proves nothing while this machine lacked a resource; what held all the same holds.
func TestAShortageOfThisMachineBlamesNobody(t *testing.T) {
	const lack = "dial tcp 127.0.0.1:8081: socket: too many open files"
	for name, tc := range map[string]struct {
		code     int
		shortage string
		want     bundle.Conclusion
	}{
		"a failure":                   {3, "", bundle.Fail},
		"a failure during a shortage": {3, lack, bundle.Inconclusive},
		"a success during a shortage": {0, lack, bundle.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			o := observation(streamExchange("p"))
			o.Shortage = tc.shortage
			v := judgeOne(t, scenarioOf(subjects("p", &scenarios.Match{End: &scenarios.EndMatch{Code: []int{tc.code}}})), o)
			if v.Conclusion != tc.want || (tc.want == bundle.Inconclusive) != strings.Contains(v.Message, lack) {
				t.Errorf("got %s: %s, want %s", v.Conclusion, v.Message, tc.want)
			}
		})
	}
}
