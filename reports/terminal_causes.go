package reports

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/bundle"
)

// shortNames is the maximum height of a list of rules, in lines, unless Verbose is set.
const shortNames = 3

// fullCauses limits the causes in full unless Verbose is set.
const fullCauses = 6

// drawCauses draws each cause once, below the verdict of the run, since the causes can
// take more than a screen.
func (t *terminal) drawCauses() {
	if len(t.causes) == 0 {
		return
	}
	t.verdict()
	for i, c := range t.causes {
		t.gap()
		if i == fullCauses && len(t.causes) > fullCauses+1 && !t.style.Verbose {
			t.otherCauses(t.causes[i:])
			return
		}
		t.cause(c)
	}
}

// otherCauses draws each cause in two lines.
func (t *terminal) otherCauses(causes []cause) {
	t.row(t.paint(bold, fmt.Sprintf("and %d more causes (-v shows them in full)", len(causes))))
	for _, c := range causes {
		t.listed(c.place.verdict.Verdict, "", line(c.Rule), painted{followers(c), dim})
		t.row("    ", t.paint(dim, cut(line(c.Message), t.n-4)))
	}
}

func (t *terminal) cause(c cause) {
	t.ruleHead(bundle.RuleVerdict{ID: c.Rule, Level: c.Level, Text: c.Title, Source: c.source, Verdict: c.place.verdict.Verdict})
	p := c.place
	if !t.style.Verbose && len(p.again) > 1 {
		p.again = p.again[:1] // the machine-readable reports have the others
	}
	t.place(p, true)
	if n := len(c.Scenarios); n > 1 {
		t.block(painted{"    ", plain}, fmt.Sprintf("%d scenarios show it", n), dim)
	}
	t.names(followText(len(c.Follows))+": ", c.Follows)
	t.names("not judged because of it: ", c.Unjudged)
}

// followText introduces the n rules that follow from a cause.
func followText(n int) string {
	if n == 1 {
		return "1 rule follows from it"
	}
	return fmt.Sprintf("%d rules follow from it", n)
}

// names lists rules after a lead, as many as fit in a few lines.
func (t *terminal) names(lead string, rules []string) {
	const indent = "    "
	if len(rules) == 0 {
		return
	}
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = line(r)
	}
	text := strings.Join(names, ", ")
	if !t.style.Verbose {
		text = some(names, t.room(indent)-width(lead))
	}
	t.block(painted{indent, plain}, lead+text, plain)
}

// room returns the number of columns in a few lines of wrapped text.
func (t *terminal) room(indent string) int { return shortNames*(t.n-width(indent)) - t.n/2 }

// followers counts the rules that follow from a cause.
func followers(c cause) string {
	switch n := len(c.Follows); n {
	case 0:
	case 1:
		return "1 rule follows"
	default:
		return fmt.Sprintf("%d rules follow", n)
	}
	return plural(max(1, len(c.Scenarios)), "scenario")
}

// open lists undecided rules by reason, and with Verbose in full.
func (t *terminal) open() {
	if t.style.Verbose {
		for _, f := range findingsOf(t.r, bundle.Inconclusive) {
			t.gap()
			t.finding(f)
		}
		return
	}
	told := unjudged(t.r)
	all := reasonsOf(t.r, told)
	if len(all) == 0 {
		return
	}
	t.gap()
	rules, runs := total(all)
	noun := "rule"
	if len(told) > 0 {
		noun = "other rule"
	}
	t.block(painted{"INCONCLUSIVE  ", yellow}, fmt.Sprintf("%s could not be judged in %s", plural(rules, noun), plural(runs, "run")), plain)
	for i, r := range all {
		if i == shortReasons && len(all) > shortReasons+1 {
			t.row("  ", t.paint(dim, fmt.Sprintf("and for %d other reasons (-v lists them)", len(all)-i)))
			return
		}
		t.block(painted{"  ", plain}, cut(r.saying(), 2*t.n-8), plain)
		t.block(painted{"      ", plain}, r.where(), dim)
	}
}

// named lists the names of the rules with a verdict.
func (t *terminal) named(c bundle.Conclusion, findings []finding) {
	var ids []string
	for _, f := range findings {
		if f.rule.Verdict == c && !slices.Contains(ids, f.rule.ID) {
			ids = append(ids, f.rule.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	lead := painted{label(c) + "  ", tintOf(c)}
	head := plural(len(ids), "rule") + ": "
	for i := range ids {
		ids[i] = line(ids[i])
	}
	t.block(lead, head+some(ids, t.room(lead.text)-width(head)), plain)
}

// scope draws the limits of the verdict.
func (t *terminal) scope() {
	const columns = 12
	for _, p := range scopeOf(t.r, shortNames*(t.n-columns)-t.n/3) {
		t.block(painted{pad(p.name, columns), dim}, p.text, plain)
	}
}
