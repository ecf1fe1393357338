package reports

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/record/bundle"
)

// matrixEndingNote explains the second column of a gateway.
const matrixEndingNote = "How responses ended: the worst over the scenarios of a rule. " +
	"A scenario that breaks off, or sends what is malformed, can legally end in any way; what matters is where gateways differ. It is not shown when clean."

// matrixSummary counts the rows: "3 gateways, 212 rules: 5 differ, 10 were tested on only some, 197 agree".
func matrixSummary(m *bundle.Matrix) string {
	counts := map[bundle.MatrixKind]int{}
	for i := range m.Rules {
		counts[m.Rules[i].Kind]++
	}
	return fmt.Sprintf("%s, %s: %d differ, %d hold but were tested on only some, %d are the same on all", plural(len(m.Gateways), "gateway"),
		plural(len(m.Rules), "rule"), counts[bundle.MatrixDiffers], counts[bundle.MatrixCoverage], counts[bundle.MatrixSame])
}

// gatewayParts are the facts about a gateway and its run.
func gatewayParts(g bundle.MatrixGateway) []string {
	target := line(g.Target.URL)
	if g.Target.Embedded {
		target = "embedded gateway"
	}
	parts := []string{target}
	if g.Tool.Name != "" {
		parts = append(parts, line(g.Tool.Name+" "+g.Tool.Version))
	}
	return append(parts, "profile "+line(g.Profile), fmt.Sprintf("%s (exit %d)", line(g.Verdict), g.Exit))
}

// gatewayNotes are the limits of a column.
func gatewayNotes(g bundle.MatrixGateway) []string {
	var notes []string
	if g.Unfinished {
		notes = append(notes, "unfinished: the run ended before its report was complete; its evidence was judged now")
	}
	for _, p := range g.Partial {
		notes = append(notes, line(p))
	}
	return notes
}

// levelsText counts the rules of a gateway: "must 190 pass, 1 fail · should 12 pass".
func levelsText(g bundle.MatrixGateway) string {
	var parts []string
	for _, l := range g.Levels {
		var counts []string
		for _, c := range bundle.Conclusions() {
			if n := l.Verdicts[c]; n > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", n, c))
			}
		}
		if len(counts) > 0 {
			parts = append(parts, line(l.Level)+" "+strings.Join(counts, ", "))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " · ")
}

// endingsText counts the responses of a gateway: "2400 clean, 7 timeout".
func endingsText(g bundle.MatrixGateway) string {
	if g.Endings == nil {
		return "unknown: a report alone has no observations"
	}
	var parts []string
	for _, e := range bundle.Endings() {
		if n := g.Endings[e]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, e))
		}
	}
	if len(parts) == 0 {
		return "no responses"
	}
	return strings.Join(parts, ", ")
}

// contextText is a difference in setup: "profile: full (a, b), e2b (c)".
func contextText(m *bundle.Matrix, c bundle.MatrixContext) string {
	var values []string
	names := map[string][]string{}
	for i, v := range c.Values {
		if names[v] == nil {
			values = append(values, v)
		}
		names[v] = append(names[v], m.Gateways[i].Name)
	}
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = fmt.Sprintf("%s (%s)", orNone(v), strings.Join(names[v], ", "))
	}
	return line(c.What + ": " + strings.Join(parts, ", "))
}

// verdictCell is the verdict of a cell, with its level if another than that of the row.
func verdictCell(c bundle.MatrixCell) string {
	if c.Verdict == "" {
		return bundle.NotJudged
	}
	if c.Level != "" && c.Verdict != bundle.Pass {
		return line(string(c.Verdict) + " (" + c.Level + ")")
	}
	return line(string(c.Verdict))
}

// cellGroup are the gateways with equal cells.
type cellGroup struct {
	text  string
	names []string
}

// cellGroups groups the gateways by the text of their cells, in the order of the columns.
func cellGroups(m *bundle.Matrix, r bundle.MatrixRule, text func(bundle.MatrixCell) string) []cellGroup {
	var all []cellGroup
	for i, c := range r.Cells {
		name := line(m.Gateways[i].Name)
		at := slices.IndexFunc(all, func(g cellGroup) bool { return g.text == text(c) })
		if at < 0 {
			all = append(all, cellGroup{text: text(c), names: []string{name}})
			continue
		}
		all[at].names = append(all[at].names, name)
	}
	return all
}

// ruleGroup are the rules with equal cells.
type ruleGroup struct {
	text  string
	rules []string
}

// ruleGroups groups rules by the text of all their cells, most rules first.
func ruleGroups(m *bundle.Matrix, take func(bundle.MatrixRule) bool, text func(bundle.MatrixCell) string) []ruleGroup {
	var all []ruleGroup
	for _, r := range m.Rules {
		if !take(r) {
			continue
		}
		var parts []string
		for _, g := range cellGroups(m, r, text) {
			parts = append(parts, g.text+" ("+strings.Join(g.names, ", ")+")")
		}
		said := strings.Join(parts, ", ")
		at := slices.IndexFunc(all, func(g ruleGroup) bool { return g.text == said })
		if at < 0 {
			all, at = append(all, ruleGroup{text: said}), len(all)
		}
		all[at].rules = append(all[at].rules, line(r.ID))
	}
	slices.SortStableFunc(all, func(a, b ruleGroup) int { return len(b.rules) - len(a.rules) })
	return all
}

// coverageGroups are the rules that were not tested everywhere and hold elsewhere.
func coverageGroups(m *bundle.Matrix) []ruleGroup {
	return ruleGroups(m, func(r bundle.MatrixRule) bool { return r.Kind == bundle.MatrixCoverage }, verdictCell)
}

// endingGroups are the rules whose verdicts do not differ, but whose responses ended differently.
func endingGroups(m *bundle.Matrix) []ruleGroup {
	return ruleGroups(m, func(r bundle.MatrixRule) bool { return r.Kind != bundle.MatrixDiffers && r.OtherEndings }, func(c bundle.MatrixCell) string {
		if c.Ended == "" {
			return "no response"
		}
		return line(string(c.Ended))
	})
}

// areaLine counts the rules of an area on which all gateways agree.
type areaLine struct{ name, text string }

// areaLines returns the areas of a level: "60 pass, 1 fail (process.end.exit-code)".
func areaLines(m *bundle.Matrix, level string) []areaLine {
	var all []areaLine
	for _, a := range m.Areas {
		if a.Level != level {
			continue
		}
		text := fmt.Sprintf("%d %s", a.Rules, line(orNone(string(a.Verdict))))
		if notable(a.Verdict) {
			text += " (" + strings.Join(rulesOf(m, a), ", ") + ")"
		}
		if last := len(all) - 1; last >= 0 && all[last].name == a.Area {
			all[last].text += ", " + text
			continue
		}
		all = append(all, areaLine{a.Area, text})
	}
	return all
}

// notable reports whether readers want to know the rules of an agreed verdict.
func notable(c bundle.Conclusion) bool {
	return c != bundle.Pass && c != bundle.Unsupported && c != bundle.NotRun
}

func rulesOf(m *bundle.Matrix, a bundle.MatrixArea) []string {
	var ids []string
	for i := range m.Rules {
		if r := &m.Rules[i]; r.Kind == bundle.MatrixSame && r.Level == a.Level && r.Area == a.Area && r.Cells[0].Verdict == a.Verdict {
			ids = append(ids, line(r.ID))
		}
	}
	return ids
}

// matrixLevels are the levels that occur, the most binding first.
func matrixLevels(m *bundle.Matrix) []string {
	var all []string
	for i := range m.Rules {
		if !slices.Contains(all, m.Rules[i].Level) {
			all = append(all, m.Rules[i].Level)
		}
	}
	return all
}

func matrixRows(m *bundle.Matrix, level string, kind bundle.MatrixKind) []bundle.MatrixRule {
	var rows []bundle.MatrixRule
	for i := range m.Rules {
		if m.Rules[i].Level == level && m.Rules[i].Kind == kind {
			rows = append(rows, m.Rules[i])
		}
	}
	return rows
}
