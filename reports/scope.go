package reports

import (
	"fmt"
	"strings"

	"assay/internal/bundle"
)

// scopePart is one limit of the verdict of a run.
type scopePart struct{ name, text string }

// scopeOf says what a run did not test and which deviations its profile allowed. Names
// that do not fit in room columns are only counted.
func scopeOf(r *bundle.Report, room int) []scopePart {
	if r.Scope == nil {
		return nil
	}
	var parts []scopePart
	if text := untested(r, room); text != "" {
		parts = append(parts, scopePart{"not tested", text})
	}
	if text := allowed(r, room); text != "" {
		parts = append(parts, scopePart{"allowed", text})
	}
	return parts
}

// allowed names the deviations that the profile allowed; "" without one.
func allowed(r *bundle.Report, room int) string {
	if r.Scope == nil || len(r.Scope.Deviations) == 0 {
		return ""
	}
	d := r.Scope.Deviations
	lead := plural(len(d), "deviation") + " of profile " + line(r.Profile) + ": "
	return lead + some(countedNames(d), room-width(lead))
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

// untested counts the skipped runs by reason.
func untested(r *bundle.Report, room int) string {
	var parts []string
	for _, c := range r.Scope.NotRun {
		name := line(c.Name)
		switch {
		case strings.HasPrefix(name, string(bundle.SkipSlow)):
			parts = append(parts, plural(c.Runs, "slow run")+" (--slow)")
		case strings.HasPrefix(name, string(bundle.SkipDestructive)):
			parts = append(parts, plural(c.Runs, "destructive run")+" (--destructive)")
		default:
			parts = append(parts, plural(c.Runs, "run")+" because "+cut(skipText(name), 60))
		}
	}
	if features := r.Scope.Unsupported; len(features) > 0 {
		runs := r.Counts[bundle.Unsupported]
		var names []string
		for _, f := range features {
			runs = max(runs, f.Runs)
			names = append(names, line(f.Name))
		}
		verb := " need "
		if runs == 1 {
			verb = " needs "
		}
		lead := plural(runs, "run") + verb
		left := room - width(lead) - width(strings.Join(parts, "; "))
		parts = append([]string{lead + some(names, left)}, parts...)
	}
	return strings.Join(parts, "; ")
}

// untestedRow is a reason why runs were not tested: a feature that the target lacks, or another one.
type untestedRow struct {
	why, feature string
	runs         int
}

// untestedRows returns the reasons why runs were not tested, for a table.
func untestedRows(r *bundle.Report) (rows []untestedRow) {
	if r.Scope == nil {
		return nil
	}
	for _, c := range r.Scope.NotRun {
		why := skipText(line(c.Name))
		switch bundle.SkipReason(c.Name) {
		case bundle.SkipSlow:
			why = "slow scenarios, which run with --slow"
		case bundle.SkipDestructive:
			why = "scenarios that can kill the target, which run with --destructive"
		default:
		}
		rows = append(rows, untestedRow{why: cut(why, mostShort), runs: c.Runs})
	}
	for _, c := range r.Scope.Unsupported {
		rows = append(rows, untestedRow{why: "the target does not have", feature: cut(line(c.Name), mostShort), runs: c.Runs})
	}
	return rows
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

// countedNames returns each name with its number of runs.
func countedNames(all []bundle.Count) []string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = fmt.Sprintf("%s (%d)", line(c.Name), c.Runs)
	}
	return names
}
