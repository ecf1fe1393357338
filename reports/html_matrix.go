package reports

import (
	"io"
	"strconv"
	"strings"

	"assay/internal/bundle"
	"assay/reports/page"
)

// matrixHTML writes a matrix as one page that needs no other file: the gateways, the rules that
// differ with what was seen, then those tested on only some gateways and those on which all
// agree, and the definition of every word.
func matrixHTML(w io.Writer, m *bundle.Matrix) error {
	v := htmlMatrix{m}
	sections := []page.Section{v.gateways()}
	for _, level := range matrixLevels(m) {
		sections = append(sections, v.differing(level))
	}
	sections = append(sections,
		v.groups("coverage", "Tested on only some", "These rules hold wherever they were tested.", coverageGroups(m)),
		v.groups("endings", "The same verdict, another end of responses", "", endingGroups(m)),
		v.agreed(), v.words())
	return page.Write(w, page.Document{
		Title: "Assay: matrix of " + plural(len(m.Gateways), "gateway"),
		Body:  v.banner() + page.Layout(sections...) + page.Footer(page.Text(bundle.MatrixSchema)),
	})
}

// htmlMatrix draws one matrix.
type htmlMatrix struct{ m *bundle.Matrix }

func (v htmlMatrix) banner() page.HTML {
	var facts []page.Fact
	for _, c := range v.m.Context {
		facts = append(facts, page.Fact{Name: "Different setup", Value: page.Text(contextText(v.m, c))})
	}
	return page.Banner(page.Verdict{
		Tone: page.Info, Symbol: "≠", Word: plural(len(v.m.Gateways), "gateway"), Sentence: matrixSummary(v.m) + ".",
		Kicker: "Assay matrix of gateways", Facts: facts,
	})
}

func (v htmlMatrix) gateways() page.Section {
	columns := []page.Column{{Title: "Gateway"}, {Title: "Target"}, {Title: "Setup"}, {Title: "Verdict"}, {Title: "Rules"}, {Title: "Responses ended"}}
	var rows []page.Row
	for _, g := range v.m.Gateways {
		parts := gatewayParts(g)
		last := len(parts) - 1
		l := runLook(g.Exit)
		name := page.Text(line(g.Name))
		for _, note := range gatewayNotes(g) {
			name += page.El("p", page.Class("note"), page.Text(note))
		}
		rows = append(rows, page.Row{Cells: []page.HTML{
			name, page.Text(parts[0]), page.Text(strings.Join(parts[1:last], ", ")), page.Badge(l.tone, l.symbol, parts[last]),
			page.Text(levelsText(g)), page.Text(endingsText(g)),
		}})
	}
	return page.Section{ID: "gateways", Title: "Gateways", Count: strconv.Itoa(len(rows)), Body: page.Table("Gateways", columns, rows)}
}

// differing is the table of the rules of a level that differ, with two columns for each gateway.
func (v htmlMatrix) differing(level string) page.Section {
	rows := matrixRows(v.m, level, bundle.MatrixDiffers)
	id := page.ID("differ", level)
	s := page.Section{ID: id, Title: capital(line(level)) + " rules that differ", Count: strconv.Itoa(len(rows))}
	if len(rows) == 0 {
		return s
	}
	shown := rows[:min(len(rows), mostRuleRows)]
	s.Body = page.Filter(id+"-list", "Filter "+line(level)+" rules", nil) +
		page.El("div", page.At("id", id+"-list"), page.Table(s.Title, v.columns(), v.rows(shown))) + page.More(len(rows)-len(shown), "rule", elsewhere)
	return s
}

func (v htmlMatrix) columns() []page.Column {
	columns := []page.Column{{Title: "Rule"}}
	for _, g := range v.m.Gateways {
		columns = append(columns, page.Column{Title: line(g.Name)}, page.Column{Title: "ended"})
	}
	return columns
}

func (v htmlMatrix) rows(rules []bundle.MatrixRule) []page.Row {
	var rows []page.Row
	for _, r := range rules {
		name := page.El("code", nil, page.Text(line(r.ID)))
		if r.Text != "" {
			name += page.El("p", page.Class("title"), page.Text(line(r.Text)))
		}
		cells := []page.HTML{name + v.seen(r)}
		var words []string
		for _, c := range r.Cells {
			words = append(words, verdictCell(c))
			cells = append(cells, cellBadge(c), page.Text(line(string(c.Ended))))
		}
		rows = append(rows, page.Row{Attrs: page.At("id", page.ID("rule", r.ID), "data-row", strings.Join(words, " ")), Cells: cells})
	}
	return rows
}

// cellBadge is the verdict of a cell with its symbol.
func cellBadge(c bundle.MatrixCell) page.HTML {
	l := lookOf(c.Verdict)
	return page.Badge(l.tone, l.symbol, verdictCell(c))
}

// seen folds what was seen of a rule on each gateway.
func (v htmlMatrix) seen(r bundle.MatrixRule) page.HTML {
	var items []page.HTML
	for i, c := range r.Cells {
		if c.Message != "" {
			items = append(items, page.El("dt", nil, page.Text(line(v.m.Gateways[i].Name))), page.El("dd", nil, said(c.Message, mostShort)))
		}
	}
	if len(items) == 0 {
		return ""
	}
	return page.Details(nil, false, page.Text("What was seen"), page.El("dl", nil, items...))
}

// groups lists rules with equal cells.
func (v htmlMatrix) groups(id, title, note string, all []ruleGroup) page.Section {
	s := page.Section{ID: id, Title: title, Note: note}
	if len(all) == 0 {
		return s
	}
	n := 0
	var parts []page.HTML
	for _, g := range all {
		n += len(g.rules)
		var names []page.HTML
		for _, rule := range g.rules {
			names = append(names, page.El("li", nil, page.El("code", nil, page.Text(rule))))
		}
		parts = append(parts, page.Details(page.Class("group"), false, page.Text(plural(len(g.rules), "rule")+": "+g.text), page.El("ul", nil, names...)))
	}
	s.Count, s.Body = strconv.Itoa(n), page.Join(parts, "\n")
	return s
}

// agreed counts the rules on which all agree, by area.
func (v htmlMatrix) agreed() page.Section {
	s := page.Section{ID: "same", Title: "The same on all"}
	var rows []page.Row
	for _, level := range matrixLevels(v.m) {
		for _, a := range areaLines(v.m, level) {
			rows = append(rows, page.Row{Cells: []page.HTML{page.Text(line(a.name)), levelTag(level), page.Text(a.text)}})
		}
	}
	if len(rows) > 0 {
		s.Body = page.Table(s.Title, []page.Column{{Title: "Area"}, {Title: "Level"}, {Title: "Rules"}}, rows)
	}
	return s
}

// words defines the words of the cells.
func (v htmlMatrix) words() page.Section {
	table := func(title string, words []bundle.MatrixWord) page.HTML {
		var rows []page.Row
		for _, w := range words {
			rows = append(rows, page.Row{Cells: []page.HTML{page.Text(line(w.Word)), page.Text(line(w.Text))}})
		}
		return page.Table(title, []page.Column{{Title: "Word"}, {Title: "Meaning"}}, rows)
	}
	body := table("Verdicts", v.m.Words)
	if len(v.m.EndingWords) > 0 {
		body += page.El("p", page.Class("note"), page.Text(matrixEndingNote)) + table("Endings", v.m.EndingWords)
	}
	return page.Section{ID: "words", Title: "Words", Body: body}
}
