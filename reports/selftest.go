package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/record/bundle"
	"assay/reports/page"
)

// selftestDocument tells of a self-test: every fault with the scenarios that killed it, survivors first, the variants,
// the other rules that faults break, and the scenarios that kill nothing.
func selftestDocument(r *bundle.SelftestReport) *document {
	killed, clean := selftestScore(r)
	word, sentence := selftestVerdict(r)
	d := &document{
		kind: "Assay self-test", sections: []section{selftestFaults(r, false), selftestVariants(r, false), selftestFaults(r, true), selftestVariants(r, true), selftestIdle(r), selftestBlame(r)},
		verdict: verdict{look: map[string]look{"TRUSTED": success, "NOT TRUSTED": failure}[word], word: word, sentence: fmt.Sprintf("%s (exit %d)", sentence, r.Exit)},
		details: facts{
			{"faults", sayf("%d of %s killed (%.0f %%)", killed, plural(len(r.Faults), "fault"), r.Score*100)},
			{"variants", sayf("%d of %s clean", clean, plural(len(r.Variants), "variant"))},
		},
	}
	if d.verdict.look == (look{}) {
		d.verdict.look = warning
	}
	if r.Shard != "" {
		d.details = append(d.details, fact{"part", say("part " + r.Shard + " of them")})
	}
	var score []text
	for _, f := range d.details {
		score = append(score, f.value)
	}
	d.sections = append(d.sections, section{title: "Score", body: []block{joined(score, orderSep)}, in: inText | inVerbose, bare: true, tail: true})
	return d
}

// selftestFaults lists the faults that were killed, or those that were not.
func selftestFaults(r *bundle.SelftestReport, killed bool) section {
	t := table{title: "Faults", columns: columns("Fault", "Detected by"), noun: "fault", most: mostRuleRows, short: mostRuleRows, lines: true}
	for i := range r.Faults {
		if r.Faults[i].Killed == killed {
			t.rows = append(t.rows, faultRow(&r.Faults[i]))
		}
	}
	if !killed {
		return section{
			id: "survivors", title: "Survivors", count: len(t.rows), body: blockOf(len(t.rows), t), bare: true,
			note: "Faults that no scenario detected: a scenario is missing, or too lenient.",
		}
	}
	return section{
		id: "faults", title: t.title, count: len(t.rows), body: blockOf(len(t.rows), filtered{id: "fault-list", label: "Filter faults", body: []block{t}}), bare: true,
		note: "Each fault is a gateway that is broken in one way, after a bug of a real one. It is killed when a rule that it breaks fails.",
	}
}

func faultRow(f *bundle.FaultResult) row {
	name, by := badged(success, "killed"), say("by ", refs("", f.By))
	if !f.Killed {
		name, by = badged(failure, "SURVIVED"), say("no scenario detected it; it breaks ", refs("", f.Breaks))
		if f.Saw != "" {
			by = append(by, say("; saw "+f.Saw)...)
		}
	}
	id := say(name, " ", ref("", f.ID))
	if f.Title != "" && f.Title != f.ID {
		id = append(id, say(": "+f.Title)...)
	}
	if f.Source != "" {
		id = append(id, below("from "+f.Source))
	}
	if f.Killed {
		id = append(id, below("breaks "+strings.Join(f.Breaks, ", ")))
		if f.Saw != "" {
			by = append(by, below("saw "+f.Saw))
		}
	}
	out := rowOf(id, by)
	out.id, out.kind = page.ID("fault", f.ID), strings.ToLower(name.text)
	return out
}

// selftestVariants lists the legal variants that were blamed, or those that were not.
func selftestVariants(r *bundle.SelftestReport, clean bool) section {
	t := table{title: "Variants", columns: columns("Variant", "Blamed by"), noun: "variant", most: mostRuleRows, short: mostRuleRows, lines: true}
	for _, v := range r.Variants {
		name, by := say(badged(success, "clean"), " ", ref("", v.ID)), strings.Join(v.Once, ", ")
		switch {
		case v.Clean != clean:
			continue
		case !clean:
			name, by = say(badged(failure, "BLAMED"), " ", ref("", v.ID), ", which is legal"), "by "+strings.Join(v.Failing, ", ")
		case by != "":
			by = "failed once, passed when run alone: " + by
		}
		t.rows = append(t.rows, rowOf(name, by))
	}
	s := section{
		id: "variants", title: t.title, count: len(t.rows), body: blockOf(len(t.rows), t), bare: true,
		note: "Each variant is a gateway that is unusual, but legal: no scenario may blame it.",
	}
	if !clean {
		s.id, s.title = "blamed-variants", "Blamed variants"
	}
	return s
}

// selftestBlame counts the rules that faults break besides their own, and names those that no rule of the fault
// explains. It has nothing without blame data.
func selftestBlame(r *bundle.SelftestReport) section {
	t := table{title: "Rules broken besides its own", columns: columns("Fault", "#Causes", "#Attached", "#Unattached"), noun: "fault", most: mostRuleRows, short: mostRuleRows}
	var list items
	unattached, most := 0, 0
	for _, f := range r.Faults {
		if f.Causes == nil {
			continue
		}
		unattached, most = unattached+f.Unattached, max(most, len(f.Causes))
		t.rows = append(t.rows, rowOf(say(ref("fault", f.ID)), len(f.Causes), len(f.Blame)-f.Unattached, f.Unattached))
		if f.Misblamed() {
			list.all = append(list.all, say(badged(failure, "BLAME"), ref("fault", f.ID), ", which breaks ", refs("", f.Breaks), "; causes: ", refs("", f.Causes)))
		}
		for _, b := range f.Blame {
			if !b.Attached {
				list.all = append(list.all, unattachedText(b))
			}
		}
		for _, o := range f.Once {
			list.all = append(list.all, say(badged(warning, "once"), ref("fault", f.ID), ", not when run alone: ", o))
		}
	}
	sum := sayf("%s: %d unattached, at most %s", plural(len(t.rows), "fault"), unattached, plural(most, "cause"))
	return section{
		id: "blamed", title: t.title, count: unattached, body: blockOf(len(t.rows), t), note: "A fault should break no rule that does not follow from the rules that it names, and have at most two causes.",
	}.with(blockOf(len(list.all), list)).with(blockOf(len(t.rows), sum))
}

// unattachedText is a rule that no rule of the fault explains, with the message.
func unattachedText(b bundle.Blame) text {
	t := say("  ", ref("", b.Rule))
	if b.Cause != b.Rule {
		t = append(t, say(", which follows from ", ref("", b.Cause))...)
	}
	if len(b.Scenarios) > 0 {
		t = append(t, say(" in ", refs("", b.Scenarios), "; first on "+b.Axes.String())...)
	}
	return append(t, say(": saw ", b.Message)...)
}

// selftestIdle lists the scenarios that killed no fault.
func selftestIdle(r *bundle.SelftestReport) section {
	ids := slices.Sorted(slices.Values(r.IdleScenarios))
	return section{id: "idle", title: "Scenarios that kill no fault", count: len(ids), body: blockOf(len(ids), say(refs("", ids)))}
}

// selftestScore counts the killed faults and the clean variants.
func selftestScore(r *bundle.SelftestReport) (killed, clean int) {
	for _, f := range r.Faults {
		if f.Killed {
			killed++
		}
	}
	for _, v := range r.Variants {
		if v.Clean {
			clean++
		}
	}
	return killed, clean
}

// selftestVerdict returns the verdict in a word, and why.
func selftestVerdict(r *bundle.SelftestReport) (word, sentence string) {
	killed, clean := selftestScore(r)
	misblamed := slices.ContainsFunc(r.Faults, func(f bundle.FaultResult) bool { return f.Misblamed() })
	switch {
	case r.Exit == 130:
		return "INTERRUPTED", "not every fault was tested"
	case r.Exit == 0 && r.Shard != "":
		return "TRUSTED", "every fault of this part was detected and no legal variant of it failed"
	case r.Exit == 0:
		return "TRUSTED", "every fault was detected and no legal variant failed"
	case killed < len(r.Faults):
		return "NOT TRUSTED", "a fault survived: a scenario is missing or too lenient"
	case clean < len(r.Variants):
		return "NOT TRUSTED", "a legal variant failed: a scenario or a rule is too strict"
	case misblamed:
		return "NOT TRUSTED", "a fault breaks an unrelated rule: a scenario has an unproven assumption, or a foundation is missing"
	}
	return "INCONCLUSIVE", "the self-test could not finish"
}

// SelftestJSON writes the result as one JSON value of schema assay.selftest/v1
// and a newline. idle_scenarios, causes and blame are null when they are nil; other lists are never null.
func SelftestJSON(w io.Writer, r *bundle.SelftestReport) error {
	full := *r
	full.Schema = bundle.SelftestSchema
	full.Survivors = list(r.Survivors)
	full.Faults = make([]bundle.FaultResult, len(r.Faults))
	for i, f := range r.Faults {
		f.Breaks, f.By = list(f.Breaks), list(f.By)
		f.Blame = slices.Clone(f.Blame)
		for n := range f.Blame {
			f.Blame[n].Scenarios = list(f.Blame[n].Scenarios)
		}
		full.Faults[i] = f
	}
	full.Variants = make([]bundle.VariantResult, len(r.Variants))
	for i, v := range r.Variants {
		v.Failing = list(v.Failing)
		full.Variants[i] = v
	}
	return writeJSON(w, full)
}
