package judge

import (
	"fmt"
	"reflect"

	"assay/internal/record/bundle"
)

// Verify derives the verdicts of a bundle again. It adds to found the differences between derived
// and stored verdicts, those between the stored verdicts and the stored result, and contradictions
// between manifest, run and observations. Verdicts whose evidence was not kept are counted but not
// compared. by is the verifying program: if it also wrote the bundle, the texts of the verdicts
// must agree, too.
func (j *Judge) Verify(b *bundle.Bundle, by bundle.Tool, found *bundle.Verification) {
	found.By = by
	again, _, err := j.Bundle(b)
	if err != nil {
		found.Add(bundle.ProblemUnreadable, "", err.Error())
		return
	}
	bundle.Storable(&again)
	if b.Unfinished {
		return // it has no verdicts to compare
	}
	stored, derived, dropped := grounded(b, again)
	found.Underivable = dropped
	found.Changed = Changed(stored, derived)
	found.Verdicts = len(stored) - len(found.Changed)
	if n := len(found.Changed); n > 0 {
		found.Add(bundle.ProblemVerdicts, "verdicts.json", fmt.Sprintf("%d of %d verdicts differ from those that the evidence yields%s", n, len(stored), otherTool(b.Run.Tool, by)))
	} else if n := retold(stored, derived); n > 0 && b.Run.Tool == by {
		found.Add(bundle.ProblemVerdicts, "verdicts.json", fmt.Sprintf("%d of %d verdicts differ in their text from those that the evidence yields", n, len(stored)))
	}
	consistent(b, found)
	if why := j.result(b); why != "" {
		found.Add(bundle.ProblemResult, "result.json", "the stored verdicts do not yield the stored result: "+why)
	}
}

func otherTool(made, by bundle.Tool) string {
	if made == by {
		return ""
	}
	return fmt.Sprintf(": they were judged by %s %s, and this is %s; `assay judge` lists the changes", made.Name, made.Version, by.Version)
}

// grounded returns the stored and the derived verdicts without those whose evidence was not kept,
// and the number of dropped stored verdicts.
func grounded(b *bundle.Bundle, again []bundle.Verdict) (stored, derived []bundle.Verdict, dropped int) {
	gone := map[bundle.Planned]bool{}
	for _, o := range b.Observations {
		if o.Omitted != nil {
			gone[bundle.Planned{Scenario: o.Scenario, Axes: o.Axes}] = true
		}
	}
	rests := func(v *bundle.Verdict) bool {
		return gone[bundle.Planned{Scenario: v.Scenario, Axes: v.Axes}] || len(gone) > 0 && (v.Rule == ruleMonotone || v.Rule == ruleLeftovers) && v.Scenario == ""
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

// retold counts the verdicts that differ in anything, such as their text.
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
