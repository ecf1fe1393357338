package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/record/bundle"
)

// reason is a reason why rules have no verdict, with the rules and runs.
type reason struct {
	text  string
	rules map[string]bool
	runs  map[int]bool // by their index in the report, -1 for the run as a whole
	first string       // the first scenario, "" for the run as a whole
}

// reasonsOf groups the inconclusive rules by message, ignoring numbers such as
// process ids, the reason with the most runs first. It skips the rules in leftOut, which
// appear elsewhere in the report.
func reasonsOf(r *bundle.Report, leftOut map[string]bool) []reason {
	var all []reason
	index := map[string]int{}
	put := func(run int, scenario string, rules []bundle.RuleVerdict) {
		for _, v := range rules {
			if v.Verdict != bundle.Inconclusive || leftOut[v.ID] {
				continue
			}
			text := line(v.Message)
			key := withoutNumbers(text)
			i, ok := index[key]
			if !ok {
				i = len(all)
				index[key] = i
				all = append(all, reason{text: text, rules: map[string]bool{}, runs: map[int]bool{}, first: scenario})
			}
			all[i].rules[v.ID], all[i].runs[run] = true, true
		}
	}
	for i, s := range r.Scenarios {
		put(i, s.ID, s.Rules)
	}
	put(-1, "", r.RunRules)
	slices.SortStableFunc(all, func(a, b reason) int { return cmp.Compare(len(b.runs), len(a.runs)) })
	return all
}

// withoutNumbers returns text with each number replaced by 0.
func withoutNumbers(text string) string {
	var b strings.Builder
	digits := false
	for _, r := range text {
		isDigit := r >= '0' && r <= '9'
		if isDigit && !digits {
			b.WriteByte('0')
		}
		if !isDigit {
			b.WriteRune(r)
		}
		digits = isDigit
	}
	return b.String()
}

// where counts the rules and runs of a reason.
func (r reason) where() string {
	if r.first == "" {
		return plural(len(r.rules), "rule") + " of the run as a whole"
	}
	text := plural(len(r.rules), "rule") + " in " + plural(len(r.runs), "run")
	if len(r.runs) == 1 {
		return text + ": " + line(r.first)
	}
	return text + ", first " + line(r.first)
}

// saying returns the reason, or a placeholder.
func (r reason) saying() string {
	if r.text == "" {
		return "no reason given"
	}
	return r.text
}

// total counts the distinct rules and runs of all reasons.
func total(all []reason) (rules, runs int) {
	ids, places := map[string]bool{}, map[int]bool{}
	for _, r := range all {
		maps.Copy(ids, r.rules)
		maps.Copy(places, r.runs)
	}
	return len(ids), len(places)
}

// some joins parts with commas, at least one and as many as fit in room columns, and counts the rest.
func some(parts []string, room int) string {
	const sep = ", "
	var b strings.Builder
	used := 0
	for i, p := range parts {
		more := ""
		if left := len(parts) - i - 1; left > 0 {
			more = fmt.Sprintf(" and %d more", left)
		}
		if i > 0 && used+width(sep)+width(p)+width(more) > room {
			fmt.Fprintf(&b, " and %d more", len(parts)-i)
			break
		}
		if i > 0 {
			b.WriteString(sep)
			used += width(sep)
		}
		b.WriteString(p)
		used += width(p)
	}
	return b.String()
}
