package reports

import (
	"cmp"
	"slices"
	"strconv"

	"assay/internal/bundle"
	"assay/reports/page"
)

// ruleRow is one rule over the whole run.
type ruleRow struct {
	id, level, text string
	verdict         bundle.Conclusion
	scenarios       []string
	bad             []string // of scenarios, those with the rule's verdict, unless it passed
}

// ruleRows returns every rule of the report, with those that belong to no scenario.
func (v *htmlView) ruleRows() []ruleRow {
	var rows []ruleRow
	index := map[string]int{}
	for _, r := range v.r.Rules {
		if _, ok := index[r.ID]; !ok {
			index[r.ID] = len(rows)
			rows = append(rows, ruleRow{id: r.ID, level: r.Level, verdict: r.Verdict, scenarios: r.Scenarios})
		}
	}
	see := func(o bundle.RuleVerdict, scenario string) {
		i, ok := index[o.ID]
		if !ok {
			i = len(rows)
			index[o.ID] = i
			rows = append(rows, ruleRow{id: o.ID, level: o.Level, verdict: o.Verdict})
		}
		r := &rows[i]
		r.verdict = bundle.Worst(r.verdict, o.Verdict)
		r.text = cmp.Or(r.text, o.Text)
		if scenario != "" && o.Verdict != bundle.Pass && o.Verdict == r.verdict && !slices.Contains(r.bad, scenario) && len(r.bad) < mostNames {
			r.bad = append(r.bad, scenario)
		}
	}
	for _, s := range v.r.Scenarios {
		for _, o := range s.Rules {
			see(o, s.ID)
		}
	}
	for _, o := range v.r.RunRules {
		see(o, "")
	}
	slices.SortStableFunc(rows, func(a, b ruleRow) int {
		return cmp.Or(cmp.Compare(b.verdict.Rank(), a.verdict.Rank()), cmp.Compare(levelRank(a.level), levelRank(b.level)), cmp.Compare(a.id, b.id))
	})
	return rows
}

// ruleSection is the matrix: counts by area, then every rule, failures first.
func (v *htmlView) ruleSection() page.Section {
	rows := v.ruleRows()
	s := page.Section{ID: "rules", Title: "Rules", Count: strconv.Itoa(len(rows)), Note: "Every rule that this run judged, by area, failures first."}
	if len(rows) == 0 {
		return s
	}
	shown := rows[:min(len(rows), mostRuleRows)]
	var areas []string
	for _, r := range shown {
		if !slices.Contains(areas, area(r.id)) {
			areas = append(areas, area(r.id))
		}
	}
	s.Body = areaTable(areas, shown) + page.Filter("rule-list", "Filter rules", kindsOf(shown))
	var groups []page.HTML
	for _, a := range areas {
		groups = append(groups, areaGroup(a, shown))
	}
	s.Body += page.El("div", page.At("id", "rule-list"), groups...) + page.More(len(rows)-len(shown), "rule", elsewhere)
	return s
}

// kindsOf returns the verdicts of rules, worst first.
func kindsOf(rows []ruleRow) []string {
	var kinds []string
	for _, r := range rows {
		if k := verdictWord(r.verdict); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// areaTable counts the rules of each area by verdict.
func areaTable(areas []string, rows []ruleRow) page.HTML {
	var verdicts []bundle.Conclusion
	for _, r := range rows {
		if !slices.Contains(verdicts, r.verdict) {
			verdicts = append(verdicts, r.verdict)
		}
	}
	columns := []page.Column{{Title: "Area"}, {Title: "Rules", Number: true}}
	for _, c := range verdicts {
		columns = append(columns, page.Column{Title: lookOf(c).symbol + " " + verdictWord(c), Number: true})
	}
	var table []page.Row
	for _, a := range areas {
		counts, n := countArea(a, rows)
		cells := []page.HTML{page.Link(page.ID("area", a), page.Text(a)), page.Text(strconv.Itoa(n))}
		for _, c := range verdicts {
			cells = append(cells, countCell(c, counts[c]))
		}
		table = append(table, page.Row{Cells: cells})
	}
	return page.Table("Rules by area and verdict", columns, table)
}

func countCell(c bundle.Conclusion, n int) page.HTML {
	if n == 0 {
		return page.El("span", page.Class("zero"), page.Text("0"))
	}
	return page.El("span", page.Class("badge "+string(lookOf(c).tone)), page.Text(strconv.Itoa(n)))
}

func countArea(name string, rows []ruleRow) (counts map[bundle.Conclusion]int, n int) {
	counts = map[bundle.Conclusion]int{}
	for _, r := range rows {
		if area(r.id) == name {
			counts[r.verdict]++
			n++
		}
	}
	return counts, n
}

// areaGroup lists the rules of an area, open if one of them needs attention.
func areaGroup(name string, rows []ruleRow) page.HTML {
	counts, n := countArea(name, rows)
	open := false
	var parts []page.HTML
	all := bundle.Conclusions()
	slices.Reverse(all)
	for _, c := range all {
		if counts[c] > 0 {
			l := lookOf(c)
			parts = append(parts, page.Badge(l.tone, l.symbol, strconv.Itoa(counts[c])+" "+verdictWord(c)))
			open = open || c.FailsRun() || c == bundle.Error
		}
	}
	var table []page.Row
	for _, r := range rows {
		if area(r.id) == name {
			table = append(table, ruleTableRow(r))
		}
	}
	caption := "Rules of " + name
	return page.Details(page.At("class", "group", "id", page.ID("area", name)), open,
		page.Text(name)+page.El("span", page.Class("count"), page.Text(plural(n, "rule")))+page.El("span", page.Class("parts"), parts...),
		page.Table(caption, []page.Column{{Title: "Rule"}, {Title: "Level"}, {Title: "Verdict"}, {Title: "Scenarios"}}, table)) + "\n"
}

// ruleTableRow draws a rule. Of one that holds, its scenarios are counted; of another,
// those that show it are named.
func ruleTableRow(r ruleRow) page.Row {
	name := page.Name(line(r.id))
	if r.text != "" {
		name += page.El("p", page.Class("title"), page.Text(line(r.text)))
	}
	where := page.Text("the run as a whole")
	switch {
	case len(r.bad) > 0:
		where = links(r.bad, mostPlaces, scenarioLink)
	case len(r.scenarios) > 3:
		where = page.Text(plural(len(r.scenarios), "scenario"))
	case len(r.scenarios) > 0:
		where = links(r.scenarios, 3, scenarioLink)
	}
	return page.Row{
		Attrs: page.At("id", page.ID("rule", r.id), "data-row", verdictWord(r.verdict)),
		Cells: []page.HTML{name, levelTag(r.level), verdictBadge(r.verdict), where},
	}
}
