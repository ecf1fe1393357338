package judge

import (
	"slices"

	"assay/internal/bundle"
	"assay/internal/judge/phrase"
	"assay/scenarios"
)

// omitted is the verdicts of an observation that was seen and not kept: each rule
// of the scenario, and each that had a verdict then, is inconclusive.
func (j *Judge) omitted(s *scenarios.Scenario, o *bundle.Observation, then []bundle.Verdict) []bundle.Verdict {
	rules := rulesOf(s)
	for i := range then {
		if then[i].Scenario == o.Scenario && then[i].Axes == o.Axes {
			rules = append(rules, then[i].Rule)
		}
	}
	slices.Sort(rules)
	verdicts := []bundle.Verdict{}
	for _, id := range slices.Compact(rules) {
		verdicts = append(verdicts, bundle.Verdict{
			Scenario: o.Scenario, Axes: o.Axes, Rule: id, Level: j.level(id), Conclusion: bundle.Inconclusive,
			Message: "what was seen was not kept: " + phrase.Clip(o.Omitted.Reason),
		})
	}
	return verdicts
}

// ofRun is Run for observations some of which may not have been kept: what holds
// for those that are there need not have held for all.
func (j *Judge) ofRun(run *bundle.Run, obs []*bundle.Observation) []bundle.Verdict {
	verdicts := j.Run(run, obs)
	if !slices.ContainsFunc(obs, func(o *bundle.Observation) bool { return o.Omitted != nil }) {
		return verdicts
	}
	for i := range verdicts {
		if v := &verdicts[i]; v.Rule == ruleMonotone && v.Conclusion == bundle.Pass {
			v.Conclusion, v.Message = bundle.Inconclusive, "not all that was seen was kept, so that some scrapes are missing"
		}
	}
	return verdicts
}
