package known

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// firstFor is how long the entries of a first list hold.
const firstFor = 90 * 24 * time.Hour

// First is a list of known failures that excuses the failures of a run.
type First struct {
	Text []byte
	// Entries is the number of its entries, and Beyond the number of failed rules that no list
	// can excuse, because they are about the whole run.
	Entries, Beyond int
}

// FirstOf returns a list of the failures of a run, by scenario and rule, and by axes where a rule
// holds on some of them. Reasons and links are to be filled in; the entries expire after 90 days.
func FirstOf(run *bundle.Run, verdicts []bundle.Verdict) First {
	var first First
	var b strings.Builder
	fmt.Fprintf(&b, "# The failures of %s in the run %s. Every entry needs a reason and the link to\n"+
		"# its issue in place of the TODO; `assay lint` checks the file.\n", phrase.Clip(run.Target.URL), phrase.Clip(run.ID))
	expires := run.Started.Add(firstFor).UTC().Format(time.DateOnly)
	for _, group := range byRule(verdicts) {
		if group[0].Scenario == "" {
			first.Beyond += len(failing(group))
			continue
		}
		for _, e := range entriesOf(group) {
			first.Entries++
			fmt.Fprintf(&b, "\n- pattern: %s\n  rule: %s\n", e.entry.Pattern, e.entry.Rule)
			if e.entry.Axes != "" {
				fmt.Fprintf(&b, "  axes: %q\n", e.entry.Axes)
			}
			if e.entry.Flaky {
				b.WriteString("  flaky: true\n")
			}
			fmt.Fprintf(&b, "  # %s\n  reason: \"TODO: why does it fail?\"\n  link: https://TODO\n  expires: %s\n", comment(e.message), expires)
		}
	}
	if first.Entries == 0 {
		b.WriteString("[]\n")
	}
	first.Text = []byte(b.String())
	return first
}

// byRule groups verdicts by scenario and rule, sorted.
func byRule(verdicts []bundle.Verdict) [][]bundle.Verdict {
	all := slices.Clone(verdicts)
	order := func(a, b bundle.Verdict) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Rule, b.Rule))
	}
	slices.SortStableFunc(all, order)
	var groups [][]bundle.Verdict
	for i := range all {
		if n := len(groups); n > 0 && order(groups[n-1][0], all[i]) == 0 {
			groups[n-1] = append(groups[n-1], all[i])
			continue
		}
		groups = append(groups, all[i:i+1:i+1])
	}
	return groups
}

// written is an entry with the message of the failure.
type written struct {
	entry   scenarios.KnownFailure
	message string
}

// entriesOf returns the entries for the verdicts of one rule on one scenario: a single one if it
// fails on all axes on which it was judged, or on all with one value; otherwise one for each axes.
func entriesOf(group []bundle.Verdict) []written {
	bad := failing(group)
	if len(bad) == 0 {
		return nil
	}
	one := written{scenarios.KnownFailure{Pattern: bad[0].Scenario, Rule: bad[0].Rule}, bad[0].Message}
	for i := range bad {
		one.entry.Flaky = one.entry.Flaky || bad[i].Conclusion == bundle.Flaky
	}
	good := slices.DeleteFunc(slices.Clone(group), func(v bundle.Verdict) bool { return !passes(v.Conclusion) || v.Conclusion == bundle.UnexpectedPass })
	a := bad[0].Axes
	for _, axes := range []string{"", a.Protocol, a.Codec, a.HTTP, a.Compression} {
		one.entry.Axes = axes
		apart := func(v bundle.Verdict) bool { return one.entry.Matches(v.Scenario, v.Axes) }
		if !slices.ContainsFunc(good, apart) && !slices.ContainsFunc(bad, func(v bundle.Verdict) bool { return !apart(v) }) {
			return []written{one}
		}
	}
	var all []written
	for i := range bad {
		one.entry.Axes, one.entry.Flaky, one.message = bad[i].Axes.String(), bad[i].Conclusion == bundle.Flaky, bad[i].Message
		all = append(all, one)
	}
	return all
}

func failing(group []bundle.Verdict) []bundle.Verdict {
	return slices.DeleteFunc(slices.Clone(group), func(v bundle.Verdict) bool {
		return v.Conclusion != bundle.Fail && v.Conclusion != bundle.Flaky
	})
}

// comment returns a message on one line of printable characters.
func comment(message string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, phrase.ClipAt(message, 110))
}
