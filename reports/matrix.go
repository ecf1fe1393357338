package reports

import (
	"io"
	"slices"
	"strings"

	"assay/internal/bundle"
)

// matrixText draws a matrix as text.
type matrixText struct {
	*canvas
	m *bundle.Matrix
}

// matrixTerminal draws the gateways, the rules that differ (must before should before may), then
// in counts those tested on only some gateways and those on which all agree, and the legend.
// Verbose lists these rules, too, and says what was seen.
func matrixTerminal(w io.Writer, m *bundle.Matrix, s Style) error {
	t := matrixText{newCanvas(w, s), m}
	t.block(painted{"MATRIX  ", bold}, matrixSummary(m), plain)
	t.gateways()
	for _, level := range matrixLevels(m) {
		if rows := matrixRows(m, level, bundle.MatrixDiffers); len(rows) > 0 {
			t.heading(strings.ToUpper(level) + " RULES THAT DIFFER")
			t.table(rows)
		}
	}
	t.groups("TESTED ON ONLY SOME", coverageGroups(m))
	t.groups("THE SAME VERDICT, ANOTHER END OF RESPONSES", endingGroups(m))
	t.agreed()
	t.legend()
	return t.err
}

func (t matrixText) heading(text string) {
	t.row()
	t.row(t.paint(bold, text))
}

func (t matrixText) gateways() {
	for _, g := range t.m.Gateways {
		t.row()
		t.flow(painted{line(g.Name) + "  ", bold}, gatewayParts(g), "  ")
		t.block(painted{"    rules  ", dim}, levelsText(g), plain)
		t.block(painted{"    ended  ", dim}, endingsText(g), plain)
		for _, note := range gatewayNotes(g) {
			t.block(painted{"    ", plain}, note, yellow)
		}
	}
	for i, c := range t.m.Context {
		if i == 0 {
			t.row()
		}
		t.block(painted{"differs  ", yellow}, contextText(t.m, c), plain)
	}
}

// table draws one line for each rule, or if the columns are too wide, one for each different cell.
func (t matrixText) table(rows []bundle.MatrixRule) {
	first, columns := 0, make([]int, len(t.m.Gateways))
	for _, r := range rows {
		first = max(first, width(line(r.ID)))
		for i, c := range r.Cells {
			columns[i] = max(columns[i], width(line(t.m.Gateways[i].Name)), width(cellText(c)))
		}
	}
	total := first
	for _, n := range columns {
		total += 2 + n
	}
	if total > t.n {
		t.stacked(rows)
		return
	}
	head := []ink{t.text(strings.Repeat(" ", first))}
	for i, g := range t.m.Gateways {
		head = append(head, t.text("  "), t.paint(dim, pad(line(g.Name), columns[i])))
	}
	t.row(head...)
	for _, r := range rows {
		cells := []ink{t.text(pad(line(r.ID), first))}
		for i, c := range r.Cells {
			cells = append(cells, t.text("  "), t.paint(tintOf(c.Verdict), pad(cellText(c), columns[i])))
		}
		t.row(cells...)
		t.seen(r)
	}
}

// stacked draws a rule, and under it one line for each different cell.
func (t matrixText) stacked(rows []bundle.MatrixRule) {
	for _, r := range rows {
		t.row(t.text(line(r.ID)))
		wide := 0
		for _, c := range r.Cells {
			wide = max(wide, width(cellText(c)))
		}
		for _, g := range cellGroups(t.m, r, cellText) {
			t.block(painted{"  " + pad(g.text, wide) + "  ", tintOf(g.verdict)}, strings.Join(g.names, ", "), plain)
		}
		t.seen(r)
	}
}

// seen says with Verbose what was seen of a rule.
func (t matrixText) seen(r bundle.MatrixRule) {
	if !t.style.Verbose {
		return
	}
	for i, c := range r.Cells {
		if c.Message != "" {
			t.block(painted{"    " + line(t.m.Gateways[i].Name) + ": ", dim}, line(c.Message), dim)
		}
	}
}

// shortGroup limits the listed rules of a group unless Verbose is set.
const shortGroup = 3

func (t matrixText) groups(heading string, all []ruleGroup) {
	if len(all) == 0 {
		return
	}
	t.heading(heading)
	for _, g := range all {
		limit := shortGroup
		if t.style.Verbose {
			limit = len(g.rules)
		}
		t.block(painted{"  " + plural(len(g.rules), "rule") + "  ", plain}, g.text+": "+someOf(g.rules, limit), plain)
	}
}

// agreed counts the rules with the same verdict on all gateways, by area.
func (t matrixText) agreed() {
	if len(t.m.Areas) == 0 {
		return
	}
	t.heading("THE SAME ON ALL")
	for _, level := range matrixLevels(t.m) {
		for _, a := range areaLines(t.m, level) {
			t.block(painted{"  " + pad(level, 7) + pad(line(a.name), 14), plain}, a.text, plain)
		}
	}
	if t.style.Verbose {
		for _, level := range matrixLevels(t.m) {
			if rows := matrixRows(t.m, level, bundle.MatrixSame); len(rows) > 0 {
				t.heading(strings.ToUpper(level) + " RULES ON WHICH ALL AGREE")
				t.table(rows)
			}
		}
	}
}

func (t matrixText) legend() {
	t.heading("WORDS")
	for _, w := range t.m.Words {
		t.block(painted{"  " + pad(line(w.Word), 17), plain}, line(w.Text), dim)
	}
	if len(t.m.EndingWords) > 0 {
		t.row()
		t.block(painted{"  ", plain}, matrixEndingNote+" It is not shown when clean.", dim)
	}
	for _, w := range t.m.EndingWords {
		t.block(painted{"  " + pad(line(w.Word), 17), plain}, line(w.Text), dim)
	}
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
