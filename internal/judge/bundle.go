package judge

import (
	"cmp"
	"fmt"
	"slices"

	"assay/internal/bundle"
	"assay/internal/judge/known"
	"assay/internal/judge/outcome"
	"assay/scenarios"
)

// Bundle judges a stored run again, by the rules and the profile of j. The
// scripts are those that were run: the bundle's own. The run of b may be a
// partial one; what it holds is judged.
//
// What was planned and has no observation is not-run, and a run without an end
// counts as interrupted: a bundle that lost something never passes. What was seen and
// not kept is inconclusive, for the rules that had a verdict then.
//
// An error names a script of the bundle that is missing or cannot be read.
func (j *Judge) Bundle(b *bundle.Bundle) ([]bundle.Verdict, *bundle.Report, error) {
	parsed := map[string]*scenarios.Scenario{}
	var verdicts []bundle.Verdict
	judged := *b.Run
	if j.Profile != nil {
		judged.Profile = j.Profile.ID // it need not be the one of the run
	}
	lost := missing(b.Run, b.Observations)
	judged.Interrupted = b.Unfinished || !b.Run.Complete() || len(lost) > 0
	all := InOrder(append(lost, b.Observations...))
	for _, o := range all {
		s, err := j.scripted(b, o, parsed)
		if err != nil {
			return nil, nil, err
		}
		if o.Omitted != nil {
			verdicts = append(verdicts, j.omitted(s, o, b.Verdicts)...)
			continue
		}
		verdicts = append(verdicts, j.Scenario(s, &judged, o)...)
	}
	verdicts = append(verdicts, known.List(j.Known, &judged, all, verdicts)...)
	verdicts = append(verdicts, j.ofRun(&judged, all)...)
	report := outcome.Report(&judged, j.Rules, all, verdicts)
	report.Attach(b.Reproducers)
	if b.Manifest != nil {
		if note := bundle.Note(b.Manifest.Omitted, b.Manifest.Limit); note != "" {
			report.Notes = append(report.Notes, note)
		}
	}
	return verdicts, report, nil
}

// scripted is the script of an observation, parsed once. A run that was killed
// before it had stored the script of what it had planned has that of the catalogue.
func (j *Judge) scripted(b *bundle.Bundle, o *bundle.Observation, parsed map[string]*scenarios.Scenario) (*scenarios.Scenario, error) {
	if s, ok := parsed[o.Scenario]; ok {
		return s, nil
	}
	text, kept := b.Scripts[o.Scenario]
	if !kept && b.Unfinished && o.Skip != nil {
		if s := j.Rules.Scenario(o.Scenario); s != nil {
			return s, nil
		}
		return &scenarios.Scenario{ID: o.Scenario}, nil
	}
	if !kept {
		return nil, fmt.Errorf("%s: the script of %s is not in the bundle", b.Dir, o.Scenario)
	}
	s, err := scenarios.Parse(o.Scenario+".yaml", text)
	if err != nil {
		return nil, fmt.Errorf("%s: the script of %s: %w", b.Dir, o.Scenario, err)
	}
	parsed[o.Scenario] = s
	return s, nil
}

// InOrder returns the observations by scenario and axes: the order of every
// report, whatever the order in which they were made.
func InOrder(obs []*bundle.Observation) []*bundle.Observation {
	sorted := slices.Clone(obs)
	slices.SortStableFunc(sorted, func(a, b *bundle.Observation) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Axes.String(), b.Axes.String()), cmp.Compare(a.Started.N, b.Started.N))
	})
	return sorted
}

// missing are observations, skipped, of what was planned and was not observed.
// The axes of a target without the usual ones are not those of the plan, so
// scenarios are counted.
func missing(run *bundle.Run, obs []*bundle.Observation) []*bundle.Observation {
	seen, exact := map[string]int{}, map[bundle.Planned]bool{}
	for _, o := range obs {
		seen[o.Scenario]++
		exact[bundle.Planned{Scenario: o.Scenario, Axes: o.Axes}] = true
	}
	planned := map[string]int{}
	for _, p := range run.Planned {
		planned[p.Scenario]++
	}
	var lost []*bundle.Observation
	for _, p := range run.Planned {
		if exact[p] || planned[p.Scenario] <= seen[p.Scenario] {
			continue
		}
		seen[p.Scenario]++
		lost = append(lost, &bundle.Observation{
			Schema: bundle.ObservationSchema, Run: run.ID, Scenario: p.Scenario, Axes: p.Axes,
			Skip: &bundle.Skip{Reason: bundle.SkipInterrupted, Detail: "it is not in the bundle"},
		})
	}
	return lost
}
