package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/internal/record/bundle"
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
func (v *conform) ruleRows() []ruleRow {
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

// rules is the matrix: counts by area, then every rule, failures first.
func (v *conform) rules() section {
	all := v.ruleRows()
	s := section{id: "rules", title: "Rules", count: len(all), note: "Every rule that this run judged, by area, failures first.", in: inPage}
	if len(all) == 0 {
		return s
	}
	shown := all[:min(len(all), mostRuleRows)]
	counts := table{title: "Rules by area and verdict", columns: columns("Area", "#Rules"), most: mostRuleRows, noun: "area"}
	list := filtered{id: "rule-list", label: "Filter rules"}
	areas, verdicts := map[string][]ruleRow{}, []bundle.Conclusion{}
	var names []string
	for _, r := range shown {
		name := area(r.id)
		if areas[name] == nil {
			names = append(names, name)
		}
		areas[name] = append(areas[name], r)
		if !slices.Contains(verdicts, r.verdict) {
			verdicts = append(verdicts, r.verdict)
			list.kinds = append(list.kinds, verdictWord(r.verdict))
			counts.columns = append(counts.columns, columns("#"+lookOf(r.verdict).symbol+" "+verdictWord(r.verdict))...)
		}
	}
	for _, name := range names {
		row, group := areaGroup(name, areas[name], verdicts)
		counts.rows, list.body = append(counts.rows, row), append(list.body, group)
	}
	s.body = []block{counts, list}
	if more := len(all) - len(shown); more > 0 {
		s.body = append(s.body, sayf("and %s %s", plural(more, "more rule"), elsewhere))
	}
	return s
}

// areaGroup counts the rules of an area by verdict, and lists them, open if one of them needs attention.
func areaGroup(name string, rules []ruleRow, verdicts []bundle.Conclusion) (row, foldable) {
	counts := map[bundle.Conclusion]int{}
	t := table{title: "Rules of " + name, columns: columns("Rule", "Level", "Verdict", "Scenarios"), most: mostRuleRows, noun: "rule"}
	for _, r := range rules {
		counts[r.verdict]++
		t.rows = append(t.rows, r.row())
	}
	group := foldable{id: page.ID("area", name), title: say(name+"  ", faintly(plural(len(rules), "rule")+"  ")), body: []block{t}}
	line := rowOf(part{text: name, as: asName, to: "area"}, len(rules))
	for _, c := range verdicts {
		if counts[c] == 0 {
			line.cells = append(line.cells, say("0"))
			continue
		}
		line.cells = append(line.cells, say(badged(lookOf(c), strconv.Itoa(counts[c]))))
		group.title = append(group.title, badged(lookOf(c), fmt.Sprintf("%d %s", counts[c], verdictWord(c))))
		group.open = group.open || c.FailsRun() || c == bundle.Error
	}
	return line, group
}

// row draws a rule. Of one that holds, its scenarios are counted; of another, those that show it are named.
func (r ruleRow) row() row {
	where := say("the run as a whole")
	switch {
	case len(r.bad) > 0:
		where = say(refs("scenario", r.bad[:min(len(r.bad), mostPlaces)]))
		if more := len(r.bad) - mostPlaces; more > 0 {
			where = append(where, sayf(" and %d more", more)...)
		}
	case len(r.scenarios) > 3:
		where = say(plural(len(r.scenarios), "scenario"))
	case len(r.scenarios) > 0:
		where = say(refs("scenario", r.scenarios))
	}
	out := rowOf(say(ref("", r.id), below(r.text)), levelOf(r.level), verdictOf(r.verdict), where)
	out.id, out.kind = page.ID("rule", r.id), verdictWord(r.verdict)
	return out
}

// scenarioRow is one scenario on the axes where it had the same result.
type scenarioRow struct {
	bundle.ScenarioResult
	axes []bundle.Axes
	ms   int64
}

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

// scenarios lists every scenario by verdict, the worst first.
func (v *conform) scenarios() section {
	s := section{
		id: "scenarios", title: "Scenarios", count: len(v.r.Scenarios), in: inMarkdown | inPage,
		note: "Every run of a scenario by verdict, the worst first. Runs that differ only in protocol, codec, HTTP version or compression share a line.",
	}
	groups, list := scenarioRows(v.r), filtered{id: "scenario-list", label: "Filter scenarios"}
	room, excerpts, left, named := mostRuns, mostExcerpts, 0, map[string]bool{}
	for _, c := range slices.SortedFunc(maps.Keys(groups), func(a, b bundle.Conclusion) int { return cmp.Or(b.Rank()-a.Rank(), cmp.Compare(a, b)) }) {
		list.kinds = append(list.kinds, verdictWord(c))
		t := table{title: "Scenarios: " + verdictWord(c), columns: columns("Scenario", "Axes", "Rules", "#Time"), most: mostRuns, noun: "scenario"}
		rows := groups[c]
		for i, one := range rows[:min(len(rows), room)] {
			out := rowOf(say(ref("", one.ID), below(one.Title)), faintly(axesText(one.axes)), one.judged(), took(one.ms))
			out.kind = verdictWord(c)
			if !named[one.ID] {
				named[one.ID], out.id = true, page.ID("scenario", one.ID)
			}
			if troubles(c) || c == bundle.Advisory {
				out.detail = one.evidence(excerpts > i)
			}
			t.rows = append(t.rows, out)
		}
		room -= len(t.rows)
		excerpts -= len(t.rows)
		left += len(rows) - len(t.rows)
		open := (c.FailsRun() || c == bundle.Error) && len(t.rows) <= 50
		list.body = append(list.body, foldable{id: page.ID("verdict", string(c)), open: open, title: say(verdictOf(c), " ", plural(len(rows), "scenario")), body: []block{t}})
	}
	s.body = blockOf(len(list.body), list)
	if left > 0 {
		s.body = append(s.body, sayf("and %s %s", plural(left, "more scenario"), elsewhere))
	}
	return s
}

// unmet returns the rules of a scenario that do not hold, the worst first.
func (s scenarioRow) unmet() []bundle.RuleVerdict {
	all := slices.DeleteFunc(slices.Clone(s.Rules), func(v bundle.RuleVerdict) bool { return v.Verdict == bundle.Pass })
	slices.SortStableFunc(all, func(a, b bundle.RuleVerdict) int { return b.Verdict.Rank() - a.Verdict.Rank() })
	return all
}

// judged names the rules of a scenario that do not hold, and counts the others.
func (s scenarioRow) judged() text {
	unmet := s.unmet()
	held := len(s.Rules) - len(unmet)
	if len(unmet) == 0 {
		return say(plural(held, "rule"))
	}
	var t text
	for i, v := range unmet[:min(len(unmet), mostPlaces)] {
		if i > 0 {
			t = append(t, say(", ")...)
		}
		t = append(t, ref("rule", v.ID))
	}
	if more := len(unmet) - mostPlaces; more > 0 {
		t = append(t, sayf(" and %d more", more)...)
	}
	if held > 0 {
		t = append(t, sayf("; %d hold", held)...)
	}
	if !troubles(s.Verdict) && s.Verdict != bundle.Advisory { // the others have their evidence
		t = append(t, below(unmet[0].Message))
	}
	return t
}

// evidence are the messages of the rules that do not hold, the bytes, and the command that runs the scenario again.
func (s scenarioRow) evidence(excerpt bool) *foldable {
	unmet := s.unmet()
	var list items
	for _, v := range unmet[:min(len(unmet), mostPlaces)] {
		list.all = append(list.all, say(verdictOf(v.Verdict), ref("rule", v.ID), " ", levelOf(v.Level), quoted(v.Message)))
	}
	p := place{replay: s.Replay}
	if excerpt {
		p.excerpt = s.Transcript
	}
	return &foldable{title: say(plural(len(unmet), "rule") + " not met"), body: []block{list, p}}
}

// everything lists each scenario with each of its rules.
func (v *conform) everything() section {
	var list items
	put := func(v bundle.Conclusion, in, name string, about text) {
		list.all = append(list.all, append(say(badged(lookOf(v), pad(in+verdictWord(v), 16)), name, "  "), about...))
	}
	rules := func(all []bundle.RuleVerdict) {
		for _, o := range all {
			about := say(faintly(o.Level))
			if o.Seen != "" {
				about = append(about, below("seen  "+o.Seen))
			}
			if !troubles(o.Verdict) && o.Verdict != bundle.Advisory && o.Message != "" { // bad verdicts have theirs above
				about = append(about, below(o.Message))
			}
			put(o.Verdict, "  ", o.ID, about)
		}
	}
	for _, s := range v.r.Scenarios {
		put(s.Verdict, "", s.ID, say(faintly(s.Axes.String()+"  "+took(s.DurationMS))))
		rules(s.Rules)
	}
	if len(v.r.RunRules) > 0 {
		list.all = append(list.all, say("the run as a whole"))
	}
	rules(v.r.RunRules)
	return section{title: "All scenarios", body: blockOf(len(list.all), list), in: inVerbose}
}
