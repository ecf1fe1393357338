package reports

import (
	"strings"

	"assay/internal/bundle"
)

// causes writes each cause once, with the rules that follow from it.
func (m *markdown) causes() {
	if len(m.r.Causes) == 0 {
		return
	}
	m.printf("\n## Causes\n")
	for _, c := range causesOf(m.r) {
		m.ruleHead(bundle.RuleVerdict{ID: c.Rule, Level: c.Level, Text: c.Title, Source: c.source})
		m.place(c.place)
		if n := len(c.Scenarios); n > 1 {
			m.printf("\n%d scenarios show it.\n", n)
		}
		m.names(followText(len(c.Follows)), c.Follows)
		m.names("Not judged because of it", c.Unjudged)
	}
}

func (m *markdown) names(lead string, rules []string) {
	if len(rules) > 0 {
		m.printf("\n%s: %s\n", lead, escaped(strings.Join(rules, ", ")))
	}
}

// open lists undecided rules by reason.
func (m *markdown) open() {
	all := reasonsOf(m.r, unjudged(m.r))
	if len(all) == 0 {
		return
	}
	m.printf("\n## Inconclusive\n\n")
	for _, r := range all {
		m.printf("- %s: %s\n", escaped(r.where()), escaped(r.saying()))
	}
}

// following writes the folded table of broken rules that follow from causes.
func (m *markdown) following() {
	by := explained(m.r)
	var rows []finding
	for _, f := range findingsOf(m.r, bundle.Fail, bundle.Flaky) {
		if len(by[f.rule.ID]) > 0 {
			rows = append(rows, f)
		}
	}
	if len(rows) == 0 {
		return
	}
	m.printf("\n<details><summary>Rules that follow from the causes (%s)</summary>\n\n| rule | follows from | scenarios | first message |\n|---|---|---:|---|\n", plural(len(rows), "rule"))
	for _, f := range rows {
		m.printf("| %s | %s | %d | %s |\n", escaped(f.rule.ID), escaped(strings.Join(by[f.rule.ID], ", ")),
			len(f.scenarios()), escaped(cut(line(f.places[0].verdict.Message), 300)))
	}
	m.printf("\n</details>\n")
}
