package judge

import (
	"slices"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// omitted returns the verdicts of an observation that was not kept: each rule of the scenario,
// and each rule with a stored verdict, is inconclusive.
func (j *Judge) omitted(s *scenarios.Scenario, o *bundle.Observation, then []bundle.Verdict) []bundle.Verdict {
	rules := rulesOf(s)
	for i := range then {
		if then[i].Scenario == o.Scenario && then[i].Axes == o.Axes {
			rules = append(rules, then[i].Rule)
		}
	}
	slices.Sort(rules)
	return j.unjudged(slices.Compact(rules), o, bundle.Inconclusive, "the evidence was not kept: "+phrase.Clip(o.Omitted.Reason), "")
}

// ofRun is Run for observations of which some may not have been kept: a rule that holds for the
// kept ones need not hold for all.
func (j *Judge) ofRun(run *bundle.Run, obs []*bundle.Observation) []bundle.Verdict {
	verdicts := j.Run(run, obs)
	if !slices.ContainsFunc(obs, func(o *bundle.Observation) bool { return o.Omitted != nil }) {
		return verdicts
	}
	for v := range bundle.Each(verdicts) {
		if v.Rule == ruleMonotone && v.Conclusion == bundle.Pass {
			v.Conclusion, v.Message = bundle.Inconclusive, "some evidence was not kept, so scrapes are missing"
		}
	}
	return verdicts
}
