package reports

import (
	"fmt"

	"assay/internal/bundle"
)

// verdictText returns the verdict in a word and a sentence that explains the exit code.
func verdictText(r *bundle.Report) (word, sentence string) {
	profile := line(r.Profile)
	switch r.Exit {
	case 0:
		if r.Verdict == bundle.RunInconclusive {
			return "NOTHING TESTED", "nothing of this shard could be tested: the merged report of all shards decides (exit 0)"
		}
		if r.Counts[bundle.Advisory] > 0 {
			return "CONFORMANT", fmt.Sprintf("to profile %s, with advisories: every tested must rule holds (exit 0)", profile)
		}
		return "CONFORMANT", fmt.Sprintf("to profile %s: every tested rule holds (exit 0)", profile)
	case 1:
		rules := len(findingsOf(r, bundle.Fail, bundle.Flaky, bundle.UnexpectedPass))
		broken := plural(rules, "rule") + " are broken"
		if rules == 1 {
			broken = "1 rule is broken"
		}
		if len(r.Causes) > 0 {
			broken = plural(len(r.Causes), "cause") + ", " + broken
		}
		return "NOT CONFORMANT", fmt.Sprintf("to profile %s: %s (exit 1)", profile, broken)
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
