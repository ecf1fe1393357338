package outcome

import (
	"slices"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// coverage compares a run with everything that its profile selects of the built-in catalogue. It is
// nil for a run that does not say what it planned or with which profile.
//
// A scenario counts if the target has all of its features. A feature for which the run did not look
// is one that the target has if the profile requires it.
func coverage(run *bundle.Run, cat *scenarios.Catalogue, rules []bundle.RuleResult) *bundle.Coverage {
	if run.ProfileText == "" || len(run.Planned) == 0 {
		return nil
	}
	builtin, err := scenarios.Load()
	if err != nil {
		return nil
	}
	p, err := cat.ParseStoredProfile("the profile of the run", []byte(run.ProfileText))
	if err != nil {
		return nil
	}
	c := &bundle.Coverage{Own: ownRules(run, builtin, rules)}
	wanted := wholeOf(run, builtin, p)
	asked := map[string]bool{}
	for _, i := range wanted {
		if slices.Contains(run.Planned, bundle.Planned{Scenario: i.Scenario.ID, Axes: i.Axes}) {
			c.Planned++
		}
		for _, id := range i.Scenario.Rules {
			asked[id] = true
		}
	}
	c.Runs, c.Rules = len(wanted), len(asked)
	for _, r := range rules {
		if asked[r.ID] && tried(r.Verdict) {
			c.Tested++
		}
	}
	c.Partial = c.Planned < c.Runs || len(wanted) == 0 && (run.Select != p.Select || run.Shard != "")
	return c
}

// wholeOf returns the built-in scenarios that a profile asks of the target of a run. In a run of the
// user's own scripts these are none for a profile of the user's own, and for one that requires
// nothing: such a profile is about the scripts.
func wholeOf(run *bundle.Run, builtin *scenarios.Catalogue, p *scenarios.Profile) []scenarios.Instance {
	own := slices.ContainsFunc(run.Planned, func(i bundle.Planned) bool { return builtin.Scenario(i.Scenario) == nil })
	if own && (len(p.Require) == 0 || !slices.Contains(scenarios.ProfileNames(), p.ID)) {
		return nil
	}
	all, err := builtin.Select(p.Select)
	if err != nil { // its terms are about other scripts
		return nil
	}
	return slices.DeleteFunc(all, func(i scenarios.Instance) bool {
		needs := i.Needs()
		i.Scenario.EachStep(func(s *scenarios.Step) {
			if id := s.Feature(); id != "" {
				needs = append(needs, id)
			}
		})
		return slices.ContainsFunc(needs, func(id string) bool {
			f, probed := run.Features[id]
			return f.State == bundle.FeatureAbsent || !probed && !slices.Contains(p.Require, id)
		})
	})
}

// ownRules counts the tested rules of the user's own scripts.
func ownRules(run *bundle.Run, builtin *scenarios.Catalogue, rules []bundle.RuleResult) int {
	n := 0
	for _, r := range rules {
		if run.RulesText != "" && len(r.Scenarios) > 0 && tried(r.Verdict) && builtin.Rule(r.ID) == nil {
			n++
		}
	}
	return n
}

// tried reports whether a verdict comes from a test.
func tried(c bundle.Conclusion) bool { return c != bundle.Unsupported && c != bundle.NotRun }
