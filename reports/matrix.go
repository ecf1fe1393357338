package reports

import (
	"strings"

	"assay/internal/record/bundle"
	"assay/reports/page"
)

// matrixDocument tells of several gateways: each of them, the rules that differ with what was seen, must before should
// before may, then those tested on only some gateways and those on which all agree, and the meaning of every word.
func matrixDocument(m *bundle.Matrix) *document {
	d := &document{
		kind: "Assay matrix of gateways", early: true, footer: m.Schema,
		verdict:  verdict{look: look{page.Info, "≠"}, word: "MATRIX", sentence: matrixSummary(m)},
		sections: []section{matrixGateways(m)},
	}
	for _, level := range matrixLevels(m) {
		d.sections = append(d.sections, matrixTable(m, level, bundle.MatrixDiffers, "rules that differ"))
	}
	d.sections = append(d.sections,
		matrixGroups("coverage", "Tested on only some", "These rules hold wherever they were tested.", coverageGroups(m)),
		matrixGroups("endings", "The same verdict, another end of responses", "", endingGroups(m)), matrixAgreed(m))
	for _, level := range matrixLevels(m) {
		s := matrixTable(m, level, bundle.MatrixSame, "rules on which all agree")
		s.in = inVerbose
		d.sections = append(d.sections, s)
	}
	d.sections = append(d.sections, matrixWords(m))
	return d
}

func matrixGateways(m *bundle.Matrix) section {
	t := table{title: "Gateways", columns: columns("Gateway", "Target", "Setup", "Verdict", "Rules", "Responses ended"), noun: "gateway"}
	var notes items
	for _, g := range m.Gateways {
		parts := gatewayParts(g)
		last := len(parts) - 1
		t.rows = append(t.rows, rowOf(strongly(g.Name), parts[0], strings.Join(parts[1:last], ", "), badged(runLook(g.Exit), parts[last]), levelsText(g), endingsText(g)))
		for _, note := range gatewayNotes(g) {
			notes.all = append(notes.all, say(badged(warning, g.Name), note))
		}
	}
	for _, c := range m.Context {
		notes.all = append(notes.all, say(badged(warning, "differs"), contextText(m, c)))
	}
	return section{id: "gateways", title: t.title, count: len(t.rows), body: append([]block{t}, blockOf(len(notes.all), notes)...), bare: true}
}

// matrixTable has a row for each rule of a level and of a kind, with a column for each gateway, and what was seen.
func matrixTable(m *bundle.Matrix, level string, kind bundle.MatrixKind, title string) section {
	id := page.ID("differ", level)
	if kind != bundle.MatrixDiffers {
		id = page.ID("same", level)
	}
	t := table{title: capital(line(level)) + " " + title, columns: columns("Rule"), alike: true, noun: "rule", most: mostRuleRows, short: mostRuleRows}
	for _, g := range m.Gateways {
		t.columns = append(t.columns, page.Column{Title: line(g.Name)})
	}
	var seen items
	for _, r := range matrixRows(m, level, kind) {
		out := rowOf(say(ref("", r.ID), below(r.Text)))
		out.id = page.ID("rule", r.ID)
		for i, c := range r.Cells {
			cell := say(badged(lookOf(c.Verdict), verdictCell(c)))
			if c.Ended != "" && c.Ended != bundle.EndedClean {
				cell = append(cell, say(" ", string(c.Ended))...)
			}
			out.kind += " " + verdictCell(c)
			out.cells = append(out.cells, cell)
			if c.Message != "" {
				seen.all = append(seen.all, say(ref("", r.ID), ", ", m.Gateways[i].Name, ": ", quoted(c.Message)))
			}
		}
		t.rows = append(t.rows, out)
	}
	body := blockOf(len(t.rows), filtered{id: id + "-list", label: "Filter " + line(level) + " rules", body: []block{t}})
	return section{id: id, title: t.title, count: len(t.rows), body: append(body, blockOf(len(seen.all), foldable{title: sayf("What was seen (%d)", len(seen.all)), body: []block{seen}})...)}
}

// matrixGroups lists rules with equal cells.
func matrixGroups(id, title, note string, all []ruleGroup) section {
	var list items
	n := 0
	for _, g := range all {
		n += len(g.rules)
		list.all = append(list.all, say(plural(len(g.rules), "rule")+": "+g.text+": ", refs("", g.rules)))
	}
	return section{id: id, title: title, note: note, count: n, body: blockOf(n, list)}
}

// matrixAgreed counts the rules on which all agree, by area.
func matrixAgreed(m *bundle.Matrix) section {
	t := table{title: "The same on all", columns: columns("Level", "Area", "Rules"), noun: "area", most: mostRuleRows}
	for _, level := range matrixLevels(m) {
		for _, a := range areaLines(m, level) {
			t.rows = append(t.rows, rowOf(level, a.name, a.text))
		}
	}
	return section{id: "same", title: t.title, body: blockOf(len(t.rows), t)}
}

// matrixWords defines the words of the cells.
func matrixWords(m *bundle.Matrix) section {
	words := func(title string, all []bundle.MatrixWord) table {
		t := table{title: title, columns: columns("Word", "Meaning"), noun: "word"}
		for _, w := range all {
			t.rows = append(t.rows, rowOf(w.Word, faintly(w.Text)))
		}
		return t
	}
	body := []block{words("Verdicts", m.Words)}
	if len(m.EndingWords) > 0 {
		body = append(body, say(matrixEndingNote), words("Endings", m.EndingWords))
	}
	return section{id: "words", title: "Words", body: body}
}
