package judge

import (
	"fmt"
	"reflect"

	"assay/internal/bundle"
)

// Verify derives the verdicts of a bundle again and adds to found what they do
// not share with those that are stored, what the stored result does not share with
// the stored verdicts, and where manifest, run and observations contradict each
// other. Verdicts whose evidence was not kept are counted and
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
	consistent(b, found)
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
