package reports

import (
	"fmt"
	"strings"

	"assay/internal/bundle"
)

// verdictText is the verdict in a word, and a sentence that says what the exit
// code means.
func verdictText(r *bundle.Report) (word, sentence string) {
	profile := line(r.Profile)
	switch r.Exit {
	case 0:
		if r.Counts[bundle.Advisory] > 0 {
			return "CONFORMANT", fmt.Sprintf("to profile %s, with advisories: every rule that must hold and was tested holds (exit 0)", profile)
		}
		return "CONFORMANT", fmt.Sprintf("to profile %s: every rule that was tested holds (exit 0)", profile)
	case 1:
		rules := len(findingsOf(r, bundle.Fail, bundle.UnexpectedPass))
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
		return "NOT RUN", "the target could not be reached, or lacks what testing needs (exit 3)"
	case 4:
		return "DEFECT", "Assay itself failed, so this says nothing of the target (exit 4)"
	case 130:
		return "INTERRUPTED", "the results are of what had run until then (exit 130)"
	}
	return "INCONCLUSIVE", fmt.Sprintf("%s (exit %d)", whyInconclusive(r), r.Exit)
}

// whyInconclusive says what is missing for a verdict.
func whyInconclusive(r *bundle.Report) string {
	if n := runsNotMade(r, "budget"); n > 0 {
		return fmt.Sprintf("%d of %s were not made: the time budget was spent", n, plural(len(r.Scenarios), "run"))
	}
	if rules, _ := total(reasonsOf(r, bundle.Inconclusive, nil)); rules > 0 {
		return plural(rules, "rule") + " could not be judged, so it cannot be said whether the target conforms to profile " + line(r.Profile)
	}
	return "nothing, or not enough, was tested to say that the target conforms"
}

// runsNotMade counts the runs that were not made for a reason that has this word in it.
func runsNotMade(r *bundle.Report, word string) int {
	n := 0
	for _, s := range r.Scenarios {
		if s.Verdict == bundle.NotRun && len(s.Rules) > 0 && strings.Contains(s.Rules[0].Message, word) {
			n++
		}
	}
	return n
}

// diedText says that the target died, and when; "" when it did not.
func diedText(r *bundle.Report) string {
	lost := runsNotMade(r, "the target was gone")
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
		return text + "; 1 run was not made"
	}
	return fmt.Sprintf("%s; %d runs were not made", text, lost)
}

// suggestion names the profile that goes with what the target looks like; "" when there is none.
func suggestion(r *bundle.Report) string {
	if r.Target.Looks != bundle.LooksEnvd || r.Profile == "envd" || r.Profile == "e2b" {
		return ""
	}
	return "this looks like the E2B daemon: --profile envd makes allowances for what it is known to do"
}
