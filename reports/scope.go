package reports

import (
	"fmt"
	"strings"

	"assay/internal/record/bundle"
)

// scopeOf says what a run did not test and which deviations its profile allowed.
func scopeOf(r *bundle.Report) (all facts) {
	if r.Scope == nil {
		return nil
	}
	var parts []text
	if features := r.Scope.Unsupported; len(features) > 0 {
		runs := r.Counts[bundle.Unsupported]
		var names []string
		for _, f := range features {
			runs = max(runs, f.Runs)
			names = append(names, f.Name)
		}
		verb := " need "
		if runs == 1 {
			verb = " needs "
		}
		parts = append(parts, say(plural(runs, "run")+verb, refs("", names)))
	}
	for _, c := range r.Scope.NotRun {
		name := line(c.Name)
		switch {
		case strings.HasPrefix(name, string(bundle.SkipSlow)):
			name = plural(c.Runs, "slow run") + " (--slow)"
		case strings.HasPrefix(name, string(bundle.SkipDestructive)):
			name = plural(c.Runs, "destructive run") + " (--destructive)"
		default:
			name = plural(c.Runs, "run") + " because " + cut(skipText(name), 60)
		}
		parts = append(parts, say(name))
	}
	if len(parts) > 0 {
		all = append(all, fact{"not tested", joined(parts, "; ")})
	}
	if a := allowed(r); a != nil {
		all = append(all, fact{"allowed", a})
	}
	return all
}

// allowed names the deviations that the profile allowed; nil without one.
func allowed(r *bundle.Report) text {
	if r.Scope == nil || len(r.Scope.Deviations) == 0 {
		return nil
	}
	var names []string
	for _, c := range r.Scope.Deviations {
		names = append(names, fmt.Sprintf("%s (%d)", line(c.Name), c.Runs))
	}
	return say(plural(len(names), "deviation")+" of profile "+r.Profile+": ", refs("", names))
}

// skipText says why runs were skipped.
func skipText(reason string) string {
	switch bundle.SkipReason(reason) {
	case bundle.SkipTargetGone:
		return "the target had stopped responding"
	case bundle.SkipKiller:
		return "the target dies of them"
	case bundle.SkipInterrupted:
		return "the run was interrupted"
	case bundle.SkipStalled:
		return "most earlier scenarios like them had waited in vain"
	case bundle.SkipBudget:
		return "the time budget was spent"
	case bundle.SkipUnanswered:
		return "the probe of a feature had no response"
	default:
		return reason
	}
}

// skippedRuns counts the runs that were skipped for a reason.
func skippedRuns(r *bundle.Report, reason bundle.SkipReason) int {
	if r.Scope == nil {
		return 0
	}
	for _, c := range r.Scope.NotRun {
		if c.Name == string(reason) {
			return c.Runs
		}
	}
	return 0
}
