package reports

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/bundle"
)

// Annotate puts an excerpt of the transcript into the result of each scenario in
// which a rule is broken or in doubt: the connection to which the worst verdict
// points, folded to the request, the head of the answer, and what stands around
// the place. It is n columns wide. What is not in trouble has none.
func Annotate(r *bundle.Report, obs []*bundle.Observation, verdicts []bundle.Verdict, n int) {
	type instance struct {
		id   string
		axes bundle.Axes
	}
	observed := map[instance]*bundle.Observation{}
	for _, o := range obs {
		observed[instance{o.Scenario, o.Axes}] = o
	}
	of := map[instance][]bundle.Verdict{}
	for _, v := range verdicts {
		if v.Evidence != nil && (troubles(v.Conclusion) || v.Conclusion == bundle.Advisory) {
			k := instance{v.Scenario, v.Axes}
			of[k] = append(of[k], v)
		}
	}
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		k := instance{s.ID, s.Axes}
		if o := observed[k]; o != nil && len(of[k]) > 0 {
			s.Transcript = excerpt(o, of[k], n)
		}
	}
}

// The lines of an excerpt: at its beginning, before the mark, and behind it.
const (
	excerptFirst  = 5
	excerptBefore = 14
	excerptBehind = 8
)

// excerpt draws the connection of the worst verdict; "" when there is none.
func excerpt(o *bundle.Observation, verdicts []bundle.Verdict, n int) string {
	worst := slices.MaxFunc(verdicts, func(a, b bundle.Verdict) int { return a.Conclusion.Rank() - b.Conclusion.Rank() })
	at := worst.Evidence
	if at.Iteration < 0 || at.Iteration >= len(o.Iterations) {
		return ""
	}
	it := &o.Iterations[at.Iteration]
	id := at.Conn
	if at.Exchange >= 0 && at.Exchange < len(it.Exchanges) {
		id = it.Exchanges[at.Exchange].Conn
	}
	i := slices.IndexFunc(it.Conns, func(c bundle.Conn) bool { return c.ID == id })
	if i < 0 {
		return ""
	}
	var b strings.Builder
	t := transcript{canvas: newCanvas(&b, Style{}), o: o, verdicts: []bundle.Verdict{worst}, current: at.Iteration}
	t.n = max(n, leastExcerpt)
	t.conn(it, &it.Conns[i])
	return strings.Join(nearMark(strings.Split(strings.Trim(b.String(), "\n"), "\n")), "\n")
}

// leastExcerpt is the width below which bytes can no longer be drawn.
const leastExcerpt = 56

// nearMark folds the lines of a connection to those around the first mark, or to
// the last ones where there is none.
func nearMark(lines []string) []string {
	mark := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "◀") })
	if mark < 0 {
		mark = len(lines) - 1
	}
	from, to := max(excerptFirst, mark-excerptBefore), min(len(lines), mark+excerptBehind)
	if from <= excerptFirst+1 {
		from = 0
	}
	var out []string
	if from > 0 {
		out = append(out, lines[:excerptFirst]...)
		out = append(out, fmt.Sprintf("      … %s folded", plural(from-excerptFirst, "line")))
	}
	out = append(out, lines[min(from, len(lines)):to]...)
	if left := len(lines) - to; left > 0 {
		out = append(out, fmt.Sprintf("      … %s folded", plural(left, "line")))
	}
	return out
}

// reproducersOf are those of one rule of a scenario, or of all of them.
func reproducersOf(s bundle.ScenarioResult, rule string) []bundle.Reproducer {
	var out []bundle.Reproducer
	for _, r := range s.Reproducers {
		if r.Rule == rule || r.Rule == "" {
			out = append(out, r)
		}
	}
	// The replay is what most readers want: it comes first.
	slices.SortStableFunc(out, func(a, b bundle.Reproducer) int { return notReplay(a) - notReplay(b) })
	return out
}

func notReplay(r bundle.Reproducer) int {
	if r.Kind == bundle.ReproduceReplay {
		return 0
	}
	return 1
}

// triedText is what came of trying a reproducer.
func triedText(r bundle.Reproducer) string {
	said, _, _ := strings.Cut(r.Output, "\n")
	switch {
	case r.Ran && r.Shown:
		return "(it was tried, and showed it again)"
	case r.Ran:
		return "(it was tried, and did not show it again: " + line(cut(said, 200)) + ")"
	case said != "":
		return "(" + line(cut(said, 200)) + ")"
	}
	return ""
}

// shownText is the transcript and the reproducers of a scenario, for a log.
func shownText(s bundle.ScenarioResult) string {
	var parts []string
	if s.Transcript != "" {
		parts = append(parts, clean(s.Transcript))
	}
	seen := map[string]bool{}
	for _, r := range s.Reproducers {
		if seen[r.Text] {
			continue
		}
		seen[r.Text] = true
		parts = append(parts, string(r.Kind)+" "+triedText(r)+"\n"+strings.TrimRight(clean(r.Text), "\n"))
	}
	if len(parts) == 0 {
		return ""
	}
	return "\n" + strings.Join(parts, "\n\n") + "\n"
}
