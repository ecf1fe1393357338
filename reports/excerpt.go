package reports

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"assay/internal/record/bundle"
)

// Annotate adds an excerpt of the transcript, n columns wide, to each cause and to the
// result of each scenario with a broken or undecided rule: the exchange to which a
// verdict points, folded to the request, the head of the response, and the lines around
// the evidence. A cause, and the scenario that shows it, get the excerpt of the cause's
// rule; any other scenario gets that of its worst verdict.
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
	caused := map[instance]string{} // the rule of the first cause that a scenario shows
	small := windowOf(len(r.Causes))
	for i := range r.Causes {
		c := &r.Causes[i]
		k := instance{c.Scenario, c.Axes}
		c.Transcript = small.excerpt(observed[k], ofRule(of[k], c.Rule), n)
		if caused[k] == "" {
			caused[k] = c.Rule
		}
	}
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		k := instance{s.ID, s.Axes}
		from := of[k]
		if rule := caused[k]; rule != "" {
			from = ofRule(from, rule)
		}
		s.Transcript = window{first: 5, before: 14, behind: 8}.excerpt(observed[k], from, n)
	}
}

// ofRule returns the verdicts on one rule.
func ofRule(verdicts []bundle.Verdict, rule string) []bundle.Verdict {
	var out []bundle.Verdict
	for _, v := range verdicts {
		if v.Rule == rule {
			out = append(out, v)
		}
	}
	return out
}

// window is the number of lines of an excerpt at its beginning, before the mark, and
// from the mark on.
type window struct {
	first, before, behind int
	// short omits the establishment of the connection.
	short bool
}

// windowOf returns the window of a cause so that all causes fit on two screens.
func windowOf(causes int) window {
	switch {
	case causes <= 2:
		return window{first: 4, before: 4, behind: 3, short: true}
	case causes <= 5:
		return window{first: 3, before: 3, behind: 2, short: true}
	}
	return window{first: 1, before: 2, behind: 1, short: true}
}

// excerpt draws the exchange, or the connection, of the worst verdict; "" if there is none.
func (w window) excerpt(o *bundle.Observation, verdicts []bundle.Verdict, n int) string {
	if o == nil || len(verdicts) == 0 {
		return ""
	}
	worst := slices.MaxFunc(verdicts, func(a, b bundle.Verdict) int { return a.Conclusion.Rank() - b.Conclusion.Rank() })
	at := worst.Evidence
	if at.Iteration < 0 || at.Iteration >= len(o.Iterations) {
		return ""
	}
	it := &o.Iterations[at.Iteration]
	var b strings.Builder
	t := transcript{canvas: newCanvas(&b, Style{}), o: o, verdicts: []bundle.Verdict{worst}, current: at.Iteration, short: w.short, told: toldFields(worst)}
	t.n = max(n, leastExcerpt)
	id := at.Conn
	if at.Exchange >= 0 && at.Exchange < len(it.Exchanges) {
		t.only = &it.Exchanges[at.Exchange]
		id = t.only.Conn
	}
	i := slices.IndexFunc(it.Conns, func(c bundle.Conn) bool { return c.ID == id })
	if i < 0 {
		return ""
	}
	t.conn(it, &it.Conns[i])
	return strings.Join(w.fold(strings.Split(strings.Trim(b.String(), "\n"), "\n"), t.told), "\n")
}

// toldFields returns the header fields, in lower case, that a verdict names: in its evidence or in its message.
func toldFields(v bundle.Verdict) map[string]bool {
	told := map[string]bool{}
	words := strings.FieldsFunc(v.Message, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, name := range slices.Concat(v.Evidence.Fields, words) {
		told[strings.ToLower(name)] = true
	}
	return told
}

// leastExcerpt is the minimum width for drawing bytes.
const leastExcerpt = 56

// fold keeps the lines of a connection around the first mark, or the last lines if
// there is none, and all told header fields.
func (w window) fold(lines []string, told map[string]bool) []string {
	mark := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "◀") })
	request := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, " "+string(sent)+" ") })
	if w.short && request > 0 && (mark < 0 || mark > request) {
		lines = lines[request:]
		mark = max(-1, mark-request)
	}
	if mark < 0 {
		mark = len(lines) - 1
	}
	first := w.first
	from, to := max(first, mark-w.before), min(len(lines), mark+w.behind)
	if from <= first+1 {
		first, from = 0, 0
	}
	var out []string
	folded, field := 0, false
	for i, l := range lines {
		name, _, _ := strings.Cut(strings.TrimSpace(l), ":")
		field = told[strings.ToLower(name)] || field && leadingSpaces(l) > stampColumns+2 // a field of several lines
		if !field && i >= first && (i < from || i >= to) {
			folded++
			continue
		}
		out = append(appendFolded(out, folded), l)
		folded = 0
	}
	return appendFolded(out, folded)
}

// appendFolded appends the line that counts n folded ones, if there are any.
func appendFolded(out []string, n int) []string {
	if n == 0 {
		return out
	}
	return append(out, fmt.Sprintf("      … %s folded", plural(n, "line")))
}

// reproducersOf returns the reproducers of one rule of a scenario, or of all rules for "".
func reproducersOf(s bundle.ScenarioResult, rule string) []bundle.Reproducer {
	var out []bundle.Reproducer
	for _, r := range s.Reproducers {
		if r.Rule == rule || r.Rule == "" {
			out = append(out, r)
		}
	}
	// Most readers want the replay: it comes first.
	slices.SortStableFunc(out, func(a, b bundle.Reproducer) int { return notReplay(a) - notReplay(b) })
	return out
}

func notReplay(r bundle.Reproducer) int {
	if r.Kind == bundle.ReproduceReplay {
		return 0
	}
	return 1
}

// triedText says whether a reproducer reproduced the failure.
func triedText(r bundle.Reproducer) string {
	said, _, _ := strings.Cut(r.Output, "\n")
	switch {
	case r.Ran && r.Shown:
		return "(tried: it reproduced the failure)"
	case r.Ran && strings.HasPrefix(said, "not compared with "):
		return "(tried: it showed again, " + line(cut(said, 200)) + ")"
	case r.Ran:
		return "(tried: it did not reproduce the failure: " + line(cut(said, 200)) + ")"
	case said != "":
		return "(" + line(cut(said, 200)) + ")"
	}
	return ""
}

// shownText returns the transcript and the reproducers of a scenario, for a log.
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
		parts = append(parts, line(string(r.Kind))+" "+triedText(r)+"\n"+strings.TrimRight(clean(r.Text), "\n"))
	}
	if len(parts) == 0 {
		return ""
	}
	return "\n" + strings.Join(parts, "\n\n") + "\n"
}
