package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/bundle"
)

// reason is why rules came to no verdict, and where it was so.
type reason struct {
	text  string
	rules map[string]bool
	runs  map[int]bool // by their index in the report, -1 for the run as a whole
	first string       // the first scenario, "" for the run as a whole
}

// reasonsOf groups what came to a conclusion by the message but for the numbers in it, such
// as those of processes, the one of most runs first.
// Rules that left out accepts are told elsewhere.
func reasonsOf(r *bundle.Report, c bundle.Conclusion, leftOut map[string]bool) []reason {
	var all []reason
	index := map[string]int{}
	put := func(run int, scenario string, rules []bundle.RuleVerdict) {
		for _, v := range rules {
			if v.Verdict != c || leftOut[v.ID] {
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

// withoutNumbers is text with 0 for each number.
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

// shortReasons is how many reasons are listed, unless everything is asked for.
const shortReasons = 6

// where says how many rules and runs a reason is of.
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

// saying is the reason, or that there is none.
func (r reason) saying() string {
	if r.text == "" {
		return "no reason was given"
	}
	return r.text
}

// total counts the rules and the runs of all reasons.
func total(all []reason) (rules, runs int) {
	ids, places := map[string]bool{}, map[int]bool{}
	for _, r := range all {
		maps.Copy(ids, r.rules)
		maps.Copy(places, r.runs)
	}
	return len(ids), len(places)
}

// some joins parts by commas as long as they fit in so many columns, at least one, and counts the rest.
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
