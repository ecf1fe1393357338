package judge

import (
	"cmp"
	"fmt"
	"slices"

	"assay/internal/judge/known"
	"assay/internal/judge/outcome"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// Bundle judges a stored run again by the rules and the profile of j, with the scripts in the
// bundle. It also judges a partial run, as far as it is stored.
//
// Planned scenarios without an observation are not-run, and a run without an end counts as
// interrupted, so an incomplete bundle never passes. Observations that were not kept make their
// rules inconclusive.
//
// An error names a script that is missing in the bundle or unreadable.
func (j *Judge) Bundle(b *bundle.Bundle) ([]bundle.Verdict, *bundle.Report, error) {
	parsed := map[string]*scenarios.Scenario{}
	var verdicts []bundle.Verdict
	judged := *b.Run
	if j.Profile != nil {
		judged.Profile, judged.ProfileText = j.Profile.ID, string(j.Profile.Text) // may differ from the run's
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

// scripted returns the script of an observation, parsed once. If a run was killed before it stored
// the script of a planned scenario, the catalogue's script is used.
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

// InOrder returns the observations sorted by scenario and axes, the order of every report.
func InOrder(obs []*bundle.Observation) []*bundle.Observation {
	sorted := slices.Clone(obs)
	slices.SortStableFunc(sorted, func(a, b *bundle.Observation) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Axes.String(), b.Axes.String()), cmp.Compare(a.Started.N, b.Started.N))
	})
	return sorted
}

// missing returns a skipped observation for each planned scenario that was not observed. On a
// target that lacks some axes, a scenario runs on other axes than planned, so runs are counted
// per scenario.
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
