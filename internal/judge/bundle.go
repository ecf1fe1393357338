package judge

import (
	"cmp"
	"fmt"
	"slices"

	"assay/internal/bundle"
	"assay/scenarios"
)

// Bundle judges a stored run again, by the rules and the profile of j. The
// scripts are those that were run: the bundle's own. The run of b may be a
// partial one; what it holds is judged.
//
// An error names a script of the bundle that is missing or cannot be read.
func (j *Judge) Bundle(b *bundle.Bundle) ([]bundle.Verdict, *bundle.Report, error) {
	parsed := map[string]*scenarios.Scenario{}
	var verdicts []bundle.Verdict
	all := InOrder(b.Observations)
	for _, o := range all {
		s, ok := parsed[o.Scenario]
		if !ok {
			text, kept := b.Scripts[o.Scenario]
			if !kept {
				return nil, nil, fmt.Errorf("%s: the script of %s is not in the bundle", b.Dir, o.Scenario)
			}
			var err error
			if s, err = scenarios.Parse(o.Scenario+".yaml", text); err != nil {
				return nil, nil, fmt.Errorf("%s: the script of %s: %w", b.Dir, o.Scenario, err)
			}
			parsed[o.Scenario] = s
		}
		verdicts = append(verdicts, j.Scenario(s, b.Run, o)...)
	}
	verdicts = append(verdicts, j.Run(b.Run, all)...)
	return verdicts, Report(b.Run, j.Rules, all, verdicts), nil
}

// InOrder returns the observations by scenario and axes: the order of every
// report, whatever the order in which they were made.
func InOrder(obs []*bundle.Observation) []*bundle.Observation {
	sorted := slices.Clone(obs)
	slices.SortStableFunc(sorted, func(a, b *bundle.Observation) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Axes.String(), b.Axes.String()))
	})
	return sorted
}
