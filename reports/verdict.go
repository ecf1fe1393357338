package reports

import (
	"cmp"
	"fmt"
	"slices"

	"assay/internal/record/bundle"
)

// verdictText returns the verdict in a word and a sentence that says what was shown and explains the exit code.
func verdictText(r *bundle.Report) (word, sentence string) {
	switch r.Exit {
	case 0:
		word, sentence = heldText(r)
		return word, sentence + " (exit 0)"
	case 1:
		rules := len(findingsOf(r, bundle.Fail, bundle.Flaky, bundle.UnexpectedPass))
		broken := plural(rules, "rule") + " are broken"
		if rules == 1 {
			broken = "1 rule is broken"
		}
		if len(r.Causes) > 0 {
			broken = plural(len(r.Causes), "cause") + ", " + broken
		}
		return "NOT CONFORMANT", fmt.Sprintf("to profile %s: %s (exit 1)", line(r.Profile), broken)
	case 2:
		return "NOT RUN", "the command line or the configuration is wrong (exit 2)"
	case 3:
		return "NOT RUN", "the target is unreachable, or lacks a prerequisite of testing (exit 3)"
	case 4:
		return "DEFECT", "Assay itself failed; this says nothing about the target (exit 4)"
	case 130:
		return "INTERRUPTED", "the results cover only the scenarios that had run (exit 130)"
	}
	return "INCONCLUSIVE", fmt.Sprintf("%s (exit %d)", whyInconclusive(r), r.Exit)
}

// heldText says what a run in which nothing failed has shown: of all that the profile asks, or of a part.
func heldText(r *bundle.Report) (word, sentence string) {
	if r.Verdict == bundle.RunInconclusive {
		return "NOTHING TESTED", "nothing of this shard could be tested: the merged report of all shards decides"
	}
	known, judged := knownRuns(r)
	but, other, advised, each, rule := "", "", "", "each", "rule"
	if known > 0 {
		but, other = " but for "+plural(known, "known failure"), "other "
	}
	if r.Counts[bundle.Advisory] > 0 {
		advised, each, rule = ", with advisories", "each must rule", "must rule"
	}
	switch {
	case known == 1 && judged == 1:
		return "KNOWN FAILURES ONLY", testedText(r) + ": the only run is a known failure"
	case known > 0 && known == judged:
		return "KNOWN FAILURES ONLY", fmt.Sprintf("%s: all %d runs are known failures", testedText(r), known)
	case isPartial(r):
		return "PARTIAL", testedText(r) + advised + ": " + each + " holds" + but
	}
	sentence = "to profile " + line(r.Profile) + advised + ": every " + other + "tested " + rule + " holds"
	if r.Coverage != nil && r.Coverage.Own > 0 {
		sentence += ", " + plural(r.Coverage.Own, "own rule") + " among them"
	}
	return "CONFORMANT" + but, sentence
}

// isPartial reports whether a run left out a part of what its profile asks; no report of an older version says so.
func isPartial(r *bundle.Report) bool { return r.Coverage != nil && r.Coverage.Partial }

// knownRuns counts the runs with a known failure, and those in which anything was judged.
func knownRuns(r *bundle.Report) (known, judged int) {
	for _, s := range r.Scenarios {
		if s.Verdict != bundle.Unsupported && s.Verdict != bundle.NotRun {
			judged++
		}
		if slices.ContainsFunc(s.Rules, func(v bundle.RuleVerdict) bool { return v.Verdict == bundle.KnownFailure }) {
			known++
		}
	}
	return known, judged
}

// testedText says how many of the profile's rules were tested, and how many of the user's own.
func testedText(r *bundle.Report) string {
	c, profile := cmp.Or(r.Coverage, &bundle.Coverage{}), "profile "+line(r.Profile)
	if c.Rules == 0 { // the profile is about the user's own scripts, or the report is of an older version
		n := testedRules(r)
		text, verb := plural(n, "rule"), " were"
		if n == 1 {
			verb = " was"
		}
		if c.Own > 0 {
			text += fmt.Sprintf(" (%d own)", c.Own)
		}
		text += verb + " tested for " + profile
		if c.Partial {
			text += ", in a part of the scenarios"
		}
		return text
	}
	if c.Tested == 0 && c.Own == 0 {
		return fmt.Sprintf("%s were tested, none of the %s of %s", plural(testedRules(r), "other rule"), plural(c.Rules, "rule"), profile)
	}
	text, verb := fmt.Sprintf("%d of %s of %s", c.Tested, plural(c.Rules, "rule"), profile), " were tested"
	switch {
	case c.Own > 0:
		text += " and " + plural(c.Own, "own rule")
	case c.Tested == 1:
		verb = " was tested"
	}
	text += verb
	if c.Tested == c.Rules && c.Partial {
		text += fmt.Sprintf(", in %d of %s", c.Planned, plural(c.Runs, "run"))
	}
	return text
}

// testedRules counts the rules of scenarios that were tested.
func testedRules(r *bundle.Report) (n int) {
	for _, t := range r.Rules {
		if len(t.Scenarios) > 0 && t.Verdict != bundle.Unsupported && t.Verdict != bundle.NotRun {
			n++
		}
	}
	return n
}

// shownAs returns the verdict whose colour and symbol a run has.
func shownAs(r *bundle.Report) bundle.Conclusion {
	known, _ := knownRuns(r)
	switch {
	case r.Exit == 1:
		return bundle.Fail
	case r.Exit == 4:
		return bundle.Error
	case r.Exit != 0 || r.Verdict == bundle.RunInconclusive:
		return bundle.Inconclusive
	case known > 0:
		return bundle.KnownFailure
	case isPartial(r):
		return bundle.Deviation
	}
	return bundle.Pass
}

// whyInconclusive says why there is no verdict.
func whyInconclusive(r *bundle.Report) string {
	if n := skippedRuns(r, bundle.SkipBudget); n > 0 {
		verb := "were"
		if n == 1 {
			verb = "was"
		}
		return fmt.Sprintf("%d of %s %s skipped: the time budget was spent", n, plural(len(r.Scenarios), "run"), verb)
	}
	if rules, _ := total(reasonsOf(r, nil)); rules > 0 {
		return plural(rules, "rule") + " could not be judged, so conformance to profile " + line(r.Profile) + " is undecided"
	}
	return "too little was tested to decide conformance"
}

// diedText says when the target died; "" when it did not.
func diedText(r *bundle.Report) string {
	lost := skippedRuns(r, bundle.SkipTargetGone)
	text := "THE TARGET DIED"
	switch {
	case r.Died != nil:
		text += " while " + line(r.Died.Scenario) + " ran"
	case lost == 0:
		return ""
	}
	switch lost {
	case 0:
		return text
	case 1:
		return text + "; 1 run was skipped"
	}
	return fmt.Sprintf("%s; %d runs were skipped", text, lost)
}

// suggestion suggests the profile that fits the target; "" for none.
func suggestion(r *bundle.Report) string {
	if r.Target.Looks != bundle.LooksEnvd || r.Profile == "envd" || r.Profile == "e2b" {
		return ""
	}
	return "this looks like the E2B daemon: --profile envd allows its known deviations"
}
