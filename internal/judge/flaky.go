package judge

import (
	"fmt"
	"maps"
	"slices"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// wavers marks a broken rule that held in other iterations, and turns its fail into flaky if it held in other repeats
// of the run. A repeat is all iterations of the script: a script that runs its steps 62 times fails if one of them
// does. A repeat without a breach in which the rule could not be judged counts as neither.
//
// The iterations of a race differ on purpose, and none of them is a repeat of another: its fails
// stay fails. So do breaches that no single iteration shows, such as wrong counters.
func wavers(v *bundle.Verdict, s *scenarios.Scenario, run *bundle.Run, t *tally) {
	if !told(v) || t.ofIterations == 0 || t.ofIterations != t.broken || mixed(s) {
		return
	}
	v.Varied = slices.Contains(slices.Collect(maps.Values(t.byIteration)), holds)
	if v.Conclusion != bundle.Fail || run == nil || run.Repeat <= 1 {
		return
	}
	own := max(1, s.Repeat.Times)
	repeats := map[int]grade{}
	for index, g := range t.byIteration {
		repeats[index/own] = max(repeats[index/own], g)
	}
	var n bundle.Repeats
	for _, g := range repeats {
		switch g {
		case violated:
			n.Failed++
			n.Of++
		case holds:
			n.Of++
		default:
		}
	}
	if n.Failed == n.Of {
		return
	}
	v.Conclusion, v.Repeats = bundle.Flaky, &n
	v.Message = fmt.Sprintf("failed in %d of %d repeats: %s", n.Failed, n.Of, v.Message)
}

// mixed reports whether the iterations of a scenario differ on purpose.
func mixed(s *scenarios.Scenario) bool {
	for i := range s.Expect {
		if len(s.Expect[i].Orders) > 0 {
			return true
		}
	}
	return len(s.Sweep) > 0
}
