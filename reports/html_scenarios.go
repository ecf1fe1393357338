package reports

import (
	"slices"
	"strconv"
	"strings"

	"assay/internal/bundle"
	"assay/reports/page"
)

// scenarioRow is one scenario on the axes where it had the same result.
type scenarioRow struct {
	bundle.ScenarioResult
	axes []bundle.Axes
	ms   int64
}

// groupID is the anchor of the scenarios with a verdict.
func groupID(c bundle.Conclusion) string { return page.ID("verdict", string(c)) }

// scenarioRows returns the scenarios of each verdict. Permutations of a scenario with the
// same messages are one row.
func scenarioRows(r *bundle.Report) map[bundle.Conclusion][]scenarioRow {
	groups := map[bundle.Conclusion][]scenarioRow{}
	index := map[string]int{}
	for _, s := range r.Scenarios {
		key := signature(s)
		if i, ok := index[key]; ok {
			row := &groups[s.Verdict][i]
			row.axes, row.ms = append(row.axes, s.Axes), row.ms+s.DurationMS
			continue
		}
		index[key] = len(groups[s.Verdict])
		groups[s.Verdict] = append(groups[s.Verdict], scenarioRow{ScenarioResult: s, axes: []bundle.Axes{s.Axes}, ms: s.DurationMS})
	}
	return groups
}

// signature is equal for permutations that a page shows as one.
func signature(s bundle.ScenarioResult) string {
	var b strings.Builder
	b.WriteString(s.ID + "\x00" + string(s.Verdict))
	for _, v := range s.Rules {
		if v.Verdict != bundle.Pass {
			b.WriteString("\x00" + v.ID + "\x00" + string(v.Verdict) + "\x00" + v.Message)
		}
	}
	return b.String()
}

// scenarioSection lists every scenario by verdict, the worst first.
func (v *htmlView) scenarioSection() page.Section {
	s := page.Section{ID: "scenarios", Title: "Scenarios", Count: strconv.Itoa(len(v.r.Scenarios)),
		Note: "Every run of a scenario by verdict, the worst first. Runs that differ only in protocol, codec, HTTP version or compression share a line."}
	if len(v.r.Scenarios) == 0 {
		return s
	}
	groups := scenarioRows(v.r)
	var verdicts []bundle.Conclusion
	for c := range groups {
		verdicts = append(verdicts, c)
	}
	slices.SortFunc(verdicts, func(a, b bundle.Conclusion) int {
		if d := b.Rank() - a.Rank(); d != 0 {
			return d
		}
		return strings.Compare(string(a), string(b))
	})
	room, named := mostRuns, map[string]bool{}
	var kinds []string
	var parts []page.HTML
	left := 0
	for _, c := range verdicts {
		kinds = append(kinds, verdictWord(c))
		rows := groups[c]
		shown := rows[:min(len(rows), room)]
		room -= len(shown)
		left += len(rows) - len(shown)
		parts = append(parts, v.scenarioGroup(c, len(rows), shown, named))
	}
	s.Body = page.Filter("scenario-list", "Filter scenarios", kinds) +
		page.El("div", page.At("id", "scenario-list"), parts...) + page.More(left, "scenario", elsewhere)
	return s
}

func (v *htmlView) scenarioGroup(c bundle.Conclusion, n int, shown []scenarioRow, named map[string]bool) page.HTML {
	var rows []page.Row
	for _, s := range shown {
		attrs := page.At("data-row", verdictWord(c))
		if !named[s.ID] {
			named[s.ID] = true
			attrs = append(attrs, "id", page.ID("scenario", s.ID))
		}
		name := page.Name(line(s.ID))
		if s.Title != "" {
			name += page.El("p", page.Class("title"), page.Text(cut(line(s.Title), mostShort)))
		}
		name += page.El("p", page.Class("axes"), page.Text(cut(line(axesText(s.axes)), mostShort)))
		rows = append(rows, page.Row{Attrs: attrs, Cells: []page.HTML{name, v.scenarioRules(s), page.Text(took(s.ms))}})
	}
	open := c.FailsRun() || c == bundle.Error
	table := page.Table("Scenarios: "+verdictWord(c), []page.Column{{Title: "Scenario"}, {Title: "Rules"}, {Title: "Time", Number: true}}, rows)
	return page.Details(page.At("class", "group", "id", groupID(c)), open && len(shown) <= 50,
		verdictBadge(c)+page.El("span", page.Class("count"), page.Text(plural(n, "scenario"))), table) + "\n"
}

// scenarioRules draws the rules of a scenario: those that hold are counted, the others
// have their message in a folded part.
func (v *htmlView) scenarioRules(s scenarioRow) page.HTML {
	held := 0
	var broken []bundle.RuleVerdict
	for _, o := range s.Rules {
		if o.Verdict == bundle.Pass {
			held++
			continue
		}
		broken = append(broken, o)
	}
	if len(broken) == 0 {
		return page.Text(plural(held, "rule"))
	}
	slices.SortStableFunc(broken, func(a, b bundle.RuleVerdict) int { return b.Verdict.Rank() - a.Verdict.Rank() })
	if !troubles(s.Verdict) && s.Verdict != bundle.Advisory {
		return v.shortRules(broken, held)
	}
	var body page.HTML
	for _, o := range broken[:min(len(broken), mostPlaces)] {
		body += page.El("p", nil, verdictBadge(o.Verdict), page.Text(" "), ruleLink(o.ID), page.Text(" "), levelTag(o.Level)) + said(o.Message, mostShort)
	}
	body += page.More(len(broken)-mostPlaces, "rule", elsewhere)
	if s.Transcript != "" && v.excerpts < mostExcerpts {
		v.excerpts++
		body += excerptBlock(s.Transcript)
	}
	body += commands(nil, s.Replay)
	summary := page.Text(plural(len(broken), "rule") + " not met")
	if len(broken) == 1 {
		summary = page.Name(line(broken[0].ID))
	}
	if held > 0 {
		summary += page.El("span", page.Class("small"), page.Textf(", %d hold", held))
	}
	return page.Details(page.Class("wide"), false, summary, body)
}

// shortRules draws the rules of a scenario that was skipped or excused.
func (v *htmlView) shortRules(rules []bundle.RuleVerdict, held int) page.HTML {
	names := make([]string, len(rules))
	for i, o := range rules {
		names[i] = o.ID
	}
	out := links(names, mostPlaces, ruleLink)
	if held > 0 {
		out += page.Textf(", %d hold", held)
	}
	if text := rules[0].Message; text != "" {
		out += page.El("p", page.Class("small"), page.Text(cut(line(text), mostShort)))
	}
	return out
}
