package judge

import (
	"strings"
	"testing"

	"assay/internal/record/bundle"
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

// A failure proves nothing either while the target refuses requests only because there are many.
func TestWhatTheTargetRefusesIsJudgedIfItIsItsAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		code    int
		refused *bundle.Unsettled
		want    bundle.Conclusion
	}{
		"the same call is always refused": {3, &bundle.Unsettled{Requests: 2, Answer: "503", Tries: 4}, bundle.Fail},
		"it is not its answer":            {3, &bundle.Unsettled{Requests: 2, Answer: "429", Tries: 4, Excused: true}, bundle.Inconclusive},
		"a success":                       {0, &bundle.Unsettled{Requests: 2, Answer: "429", Tries: 4, Excused: true}, bundle.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			o := observation(streamExchange("p"))
			o.Refused = tc.refused
			v := judgeOne(t, scenarioOf(subjects("p", &scenarios.Match{End: &scenarios.EndMatch{Code: []int{tc.code}}})), o)
			if v.Conclusion != tc.want || (tc.want == bundle.Inconclusive) != strings.Contains(v.Message, "the last of 4 tries had 2 requests refused (429)") {
				t.Errorf("got %s: %s, want %s", v.Conclusion, v.Message, tc.want)
			}
		})
	}
}

func TestAnswersOfWhatIsInFrontAreOneCause(t *testing.T) {
	run := testRun()
	front := bundle.Refused{Requests: 3, Settled: 2, Answers: []string{"502 text/html"}, First: bundle.Stamp{T: 1e9}, Last: bundle.Stamp{T: 5e9}}
	run.Admission = &bundle.Admission{Requests: 120, Front: front}
	vs := (&Judge{}).Run(run, nil)
	if len(vs) != 1 || vs[0].Rule != ruleFront || vs[0].Conclusion != bundle.Fail ||
		vs[0].Message != "something in front of the gateway answered 3 of 120 requests itself (502 text/html), the first after 1s and the last after 5s; 2 scenarios had other answers when repeated" {
		t.Errorf("%+v", vs)
	}
	front.Settled = 0 // they are the gateway's
	run.Admission.Front = front
	if vs := (&Judge{}).Run(run, nil); len(vs) > 0 {
		t.Errorf("%+v", vs)
	}
}
