package judge

import (
	"fmt"
	"maps"
	"reflect"

	"assay/internal/bundle"
)

// Verify derives the verdicts of a bundle again and adds to found what they do
// not share with those that are stored, and what the stored result does not share
// with the stored verdicts. Verdicts whose evidence was not kept are counted and
// not compared. by is the program that verifies: when it is the one that made the
// bundle, the text of a verdict must be the same as well.
func (j *Judge) Verify(b *bundle.Bundle, by bundle.Tool, found *bundle.Verification) {
	found.By = by
	again, _, err := j.Bundle(b)
	if err != nil {
		found.Add(bundle.ProblemUnreadable, "", err.Error())
		return
	}
	if b.Unfinished {
		return // it has no verdicts to be held to
	}
	stored, derived, dropped := grounded(b, again)
	found.Underivable = dropped
	found.Changed = Changed(stored, derived)
	found.Verdicts = len(stored) - len(found.Changed)
	if n := len(found.Changed); n > 0 {
		found.Add(bundle.ProblemVerdicts, "verdicts.json", fmt.Sprintf("%d of %d verdicts are not those that the evidence gives%s", n, len(stored), otherTool(b.Run.Tool, by)))
	} else if n := retold(stored, derived); n > 0 && b.Run.Tool == by {
		found.Add(bundle.ProblemVerdicts, "verdicts.json", fmt.Sprintf("%d of %d verdicts are told in other words than the evidence gives", n, len(stored)))
	}
	if why := j.result(b); why != "" {
		found.Add(bundle.ProblemResult, "result.json", "the result is not that of the stored verdicts: "+why)
	}
}

func otherTool(made, by bundle.Tool) string {
	if made == by {
		return ""
	}
	return fmt.Sprintf(": they were judged by %s %s, and this is %s; `assay judge` lists what newer rules change", made.Name, made.Version, by.Version)
}

// grounded are the stored and the derived verdicts without those that rest on
// evidence which was not kept, and how many stored ones those were.
func grounded(b *bundle.Bundle, again []bundle.Verdict) (stored, derived []bundle.Verdict, dropped int) {
	gone := map[instance]bool{}
	for _, o := range b.Observations {
		if o.Omitted != nil {
			gone[instance{o.Scenario, o.Axes}] = true
		}
	}
	rests := func(v *bundle.Verdict) bool {
		return gone[instance{v.Scenario, v.Axes}] || len(gone) > 0 && (v.Rule == ruleMonotone || v.Rule == ruleLeftovers) && v.Scenario == ""
	}
	for i := range b.Verdicts {
		if rests(&b.Verdicts[i]) {
			dropped++
			continue
		}
		stored = append(stored, b.Verdicts[i])
	}
	for i := range again {
		if !rests(&again[i]) {
			derived = append(derived, again[i])
		}
	}
	return stored, derived, dropped
}

// retold is how many verdicts conclude the same in other words.
func retold(stored, derived []bundle.Verdict) int {
	was := byAbout(stored)
	n := 0
	for i, k := range abouts(derived) {
		if old := was[k]; old != nil && !reflect.DeepEqual(*old, derived[i]) {
			n++
		}
	}
	return n
}

// result says what the stored result does not share with the stored verdicts, "" when nothing.
func (j *Judge) result(b *bundle.Bundle) string {
	if b.Report == nil {
		return "there is none"
	}
	r := Report(b.Run, j.Rules, b.Observations, b.Verdicts)
	switch {
	case r.Verdict != b.Report.Verdict || r.Exit != b.Report.Exit:
		return fmt.Sprintf("it says %s (exit %d), they say %s (exit %d)", b.Report.Verdict, b.Report.Exit, r.Verdict, r.Exit)
	case !maps.Equal(r.Counts, b.Report.Counts):
		return fmt.Sprintf("it counts %v, they %v", b.Report.Counts, r.Counts)
	case len(r.Scenarios) != len(b.Report.Scenarios) || len(r.RunRules) != len(b.Report.RunRules):
		return fmt.Sprintf("it has %d scenarios and %d rules of the run, they have %d and %d",
			len(b.Report.Scenarios), len(b.Report.RunRules), len(r.Scenarios), len(r.RunRules))
	}
	for i := range r.RunRules {
		if !sameRule(&r.RunRules[i], &b.Report.RunRules[i]) {
			return "it differs in " + clip(b.Report.RunRules[i].ID)
		}
	}
	for i := range r.Scenarios {
		want, got := &r.Scenarios[i], &b.Report.Scenarios[i]
		same := want.ID == got.ID && want.Axes == got.Axes && want.Verdict == got.Verdict && len(want.Rules) == len(got.Rules)
		for k := 0; same && k < len(want.Rules); k++ {
			same = sameRule(&want.Rules[k], &got.Rules[k])
		}
		if !same {
			return "it differs in " + clip(got.ID) + " [" + clip(got.Axes.String()) + "]"
		}
	}
	return ""
}

// sameRule compares what a verdict says, and not what the catalogue says of its rule.
func sameRule(a, b *bundle.RuleVerdict) bool {
	return a.ID == b.ID && a.Level == b.Level && a.Verdict == b.Verdict && a.Message == b.Message && a.Seen == b.Seen && maps.Equal(a.Counts, b.Counts)
}
