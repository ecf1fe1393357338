package reports

import (
	"fmt"
	"strings"

	"assay/internal/bundle"
)

// scopePart is one thing that the verdict of a run rests on.
type scopePart struct{ name, text string }

// scopeOf says what a run did not test and what its profile allowed; names that do
// not fit in so many columns are counted.
func scopeOf(r *bundle.Report, room int) []scopePart {
	if r.Scope == nil {
		return nil
	}
	var parts []scopePart
	if text := untested(r, room); text != "" {
		parts = append(parts, scopePart{"not tested", text})
	}
	if d := r.Scope.Deviations; len(d) > 0 {
		lead := plural(len(d), "deviation") + " of profile " + line(r.Profile) + " were used: "
		if len(d) == 1 {
			lead = "1 deviation of profile " + line(r.Profile) + " was used: "
		}
		parts = append(parts, scopePart{"allowed", lead + some(countedNames(d), room-width(lead))})
	}
	return parts
}

// skipText is why a run was not made, in words.
func skipText(name string) string {
	switch bundle.SkipReason(name) {
	case bundle.SkipTargetGone:
		return "the target was gone"
	case bundle.SkipInterrupted:
		return "the run was interrupted"
	case bundle.SkipStalled:
		return "the target no longer ends what it starts"
	default:
		return name
	}
}

// untested says which runs were left out, and why.
func untested(r *bundle.Report, room int) string {
	var asked, rest []string
	for _, c := range r.Scope.NotRun {
		name := line(c.Name)
		switch {
		case strings.HasPrefix(name, string(bundle.SkipSlow)):
			asked = append(asked, fmt.Sprintf("%d slow", c.Runs))
		case strings.HasPrefix(name, string(bundle.SkipDestructive)) || strings.HasPrefix(name, "may kill the target"):
			asked = append(asked, fmt.Sprintf("%d destructive", c.Runs))
		default:
			rest = append(rest, plural(c.Runs, "run")+": "+cut(skipText(name), 60))
		}
	}
	if len(asked) > 0 {
		rest = append([]string{strings.Join(asked, ", ") + " not asked for"}, rest...)
	}
	if features := r.Scope.Unsupported; len(features) > 0 {
		runs := r.Counts[bundle.Unsupported]
		var names []string
		for _, f := range features {
			runs = max(runs, f.Runs)
			names = append(names, line(f.Name))
		}
		lead := plural(runs, "run") + " for want of "
		left := room - width(lead) - width(strings.Join(rest, "; "))
		rest = append([]string{lead + some(names, left)}, rest...)
	}
	return strings.Join(rest, "; ")
}

// countedNames is each name with how many runs it is of.
func countedNames(all []bundle.Count) []string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = fmt.Sprintf("%s (%d)", line(c.Name), c.Runs)
	}
	return names
}
