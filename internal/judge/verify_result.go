package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"assay/internal/judge/outcome"
	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
)

// result describes how the stored result differs from the one that the run and the stored
// verdicts yield; "" if they agree. It ignores what depends on anything else: durations, notes,
// transcripts, reproducers, and texts of the catalogue.
func (j *Judge) result(b *bundle.Bundle) string {
	if b.Report == nil {
		return "there is no result"
	}
	full := outcome.Report(b.Run, j.Rules, b.Observations, b.Verdicts)
	full.Attach(b.Reproducers)
	want, got := bare(full), bare(b.Report)
	if b.Report.Causes == nil { // stored before reports had causes
		want.Causes, got.Causes, want.Scope = nil, nil, got.Scope
	}
	switch {
	case want.Verdict != got.Verdict || want.Exit != got.Exit:
		return fmt.Sprintf("the result says %s (exit %d), the verdicts say %s (exit %d)", phrase.Clip(got.Verdict), got.Exit, want.Verdict, want.Exit)
	case !equalCounts(full.Counts, b.Report.Counts):
		return fmt.Sprintf("the result counts %v, the verdicts %v", b.Report.Counts, full.Counts)
	case len(want.Scenarios) != len(got.Scenarios) || len(want.RunRules) != len(got.RunRules) || len(want.Rules) != len(got.Rules):
		return fmt.Sprintf("the result has %d scenarios, %d rules and %d rules of the run, the verdicts %d, %d and %d",
			len(got.Scenarios), len(got.Rules), len(got.RunRules), len(want.Scenarios), len(want.Rules), len(want.RunRules))
	}
	if r := unlike(want.RunRules, got.RunRules); r != nil {
		return "the result differs in " + phrase.Clip(r.ID)
	}
	if r := unlike(want.Rules, got.Rules); r != nil {
		return "the result differs in the rule " + phrase.Clip(r.ID)
	}
	if s := unlike(want.Scenarios, got.Scenarios); s != nil {
		return "the result differs in " + phrase.Clip(s.ID) + " [" + phrase.Clip(s.Axes.String()) + "]"
	}
	want.Scenarios, got.Scenarios = nil, nil
	if !same(want, got) {
		return "the result belongs to another run, program, target or profile, or only one of the two was interrupted"
	}
	return ""
}

// unlike returns the first of two lists of the same length that differs, or nil.
func unlike[T any](want, got []T) *T {
	for i := range want {
		if !same(want[i], got[i]) {
			return &got[i]
		}
	}
	return nil
}

// equalCounts compares counts; a conclusion that an older program did not know has none.
func equalCounts(want, got map[bundle.Conclusion]int) bool {
	none := func(_ bundle.Conclusion, n int) bool { return n == 0 }
	want, got = maps.Clone(want), maps.Clone(got)
	maps.DeleteFunc(want, none)
	maps.DeleteFunc(got, none)
	return maps.Equal(want, got)
}

// bare returns a copy of a report with only the parts that run, observations and verdicts
// determine.
func bare(r *bundle.Report) bundle.Report {
	c := *r
	c.Started, c.DurationMS, c.Notes, c.Counts = time.Time{}, 0, nil, nil // counts are compared by equalCounts
	c.Coverage = nil                                                      // a part of it comes from the catalogue
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

// plain returns the verdicts without the catalogue's texts of their rules.
func plain(rules []bundle.RuleVerdict) []bundle.RuleVerdict {
	all := make([]bundle.RuleVerdict, 0, len(rules))
	for _, r := range rules {
		r.Text, r.Source = "", ""
		all = append(all, r)
	}
	return all
}

// same compares two values by their stored form, which omits empty lists and maps.
func same[T any](a, b T) bool {
	one, errOne := json.Marshal(a)
	other, errOther := json.Marshal(b)
	return errOne == nil && errOther == nil && bytes.Equal(one, other)
}
