package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"assay/internal/bundle"
	"assay/internal/judge/outcome"
	"assay/internal/judge/phrase"
)

// result says what the stored result does not share with what run and stored
// verdicts give, "" when nothing. Only what rests on more than these is not
// compared: how long it took, notes, transcripts, reproducers, and the words of
// the catalogue.
func (j *Judge) result(b *bundle.Bundle) string {
	if b.Report == nil {
		return "there is none"
	}
	want, got := bare(outcome.Report(b.Run, j.Rules, b.Observations, b.Verdicts)), bare(b.Report)
	if b.Report.Causes == nil { // it is from before they were told
		want.Causes, got.Causes, want.Scope = nil, nil, got.Scope
	}
	switch {
	case want.Verdict != got.Verdict || want.Exit != got.Exit:
		return fmt.Sprintf("it says %s (exit %d), they say %s (exit %d)", phrase.Clip(got.Verdict), got.Exit, want.Verdict, want.Exit)
	case !maps.Equal(want.Counts, got.Counts):
		return fmt.Sprintf("it counts %v, they %v", got.Counts, want.Counts)
	case len(want.Scenarios) != len(got.Scenarios) || len(want.RunRules) != len(got.RunRules) || len(want.Rules) != len(got.Rules):
		return fmt.Sprintf("it has %d scenarios, %d rules and %d rules of the run, they have %d, %d and %d",
			len(got.Scenarios), len(got.Rules), len(got.RunRules), len(want.Scenarios), len(want.Rules), len(want.RunRules))
	}
	for i := range want.RunRules {
		if !same(want.RunRules[i], got.RunRules[i]) {
			return "it differs in " + phrase.Clip(got.RunRules[i].ID)
		}
	}
	for i := range want.Rules {
		if !same(want.Rules[i], got.Rules[i]) {
			return "it differs in the rule " + phrase.Clip(got.Rules[i].ID)
		}
	}
	for i := range want.Scenarios {
		if s := &got.Scenarios[i]; !same(want.Scenarios[i], *s) {
			return "it differs in " + phrase.Clip(s.ID) + " [" + phrase.Clip(s.Axes.String()) + "]"
		}
	}
	want.Scenarios, got.Scenarios = nil, nil
	if !same(want, got) {
		return "it is of another run, program, target or profile, or interrupted in one alone"
	}
	return ""
}

// bare is a report with nothing but what run, observations and verdicts decide;
// r is not changed.
func bare(r *bundle.Report) bundle.Report {
	c := *r
	c.DurationMS, c.Notes = 0, nil
	c.Causes = make([]bundle.Cause, 0, len(r.Causes))
	for _, cause := range r.Causes {
		cause.Title, cause.Reproducer, cause.Transcript = "", "", ""
		c.Causes = append(c.Causes, cause)
	}
	c.RunRules = plain(r.RunRules)
	c.Scenarios = make([]bundle.ScenarioResult, 0, len(r.Scenarios))
	for _, s := range r.Scenarios {
		s.Title, s.DurationMS, s.Transcript, s.Reproducers = "", 0, "", nil
		s.Rules = plain(s.Rules)
		c.Scenarios = append(c.Scenarios, s)
	}
	return c
}

// plain are the verdicts without what the catalogue says of their rules.
func plain(rules []bundle.RuleVerdict) []bundle.RuleVerdict {
	all := make([]bundle.RuleVerdict, 0, len(rules))
	for _, r := range rules {
		r.Text, r.Source = "", ""
		all = append(all, r)
	}
	return all
}

// same compares two values as a bundle holds them, where an empty list or map that
// is left out is none.
func same[T any](a, b T) bool {
	one, errOne := json.Marshal(a)
	other, errOther := json.Marshal(b)
	return errOne == nil && errOther == nil && bytes.Equal(one, other)
}
