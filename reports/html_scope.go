package reports

import (
	"strconv"
	"strings"

	"assay/internal/bundle"
	"assay/reports/page"
)

// scopeSection says what was not tested, and why.
func (v *htmlView) scopeSection() page.Section {
	s := page.Section{ID: "untested", Title: "Not tested", Note: "The verdict says nothing about these."}
	var rows []page.Row
	for _, u := range untestedRows(v.r) {
		why := page.Text(u.why)
		if u.feature != "" {
			why += page.Text(" ") + page.El("code", nil, page.Text(u.feature))
		}
		rows = append(rows, page.Row{Cells: []page.HTML{why, page.Text(strconv.Itoa(u.runs))}})
	}
	if len(rows) == 0 {
		return s
	}
	more := len(rows) - mostFindings
	s.Body = page.Table("What was not tested", []page.Column{{Title: "Reason"}, {Title: "Runs", Number: true}}, rows[:min(len(rows), mostFindings)]) +
		page.More(more, "reason", elsewhere)
	return s
}

// deviationSection lists what is broken and excused: by the profile, or by the list of
// known failures.
func (v *htmlView) deviationSection() page.Section {
	allowed, known := findingsOf(v.r, bundle.Deviation), findingsOf(v.r, bundle.KnownFailure)
	s := page.Section{ID: "excused", Title: "Deviations and known failures", Count: strconv.Itoa(len(allowed) + len(known)),
		Note: "Broken rules that the profile or the list of known failures names. They do not change the verdict."}
	if len(allowed) > 0 {
		s.Body += page.El("h3", nil, verdictBadge(bundle.Deviation)) + briefTable("Deviations that profile "+line(v.r.Profile)+" allows", allowed)
	}
	if len(known) > 0 {
		s.Body += page.El("h3", nil, verdictBadge(bundle.KnownFailure)) + briefTable("Known failures", known)
	}
	return s
}

// raceSection counts how often each order of a race was seen.
func (v *htmlView) raceSection() page.Section {
	races := racesOf(v.r)
	s := page.Section{ID: "races", Title: "Races", Count: strconv.Itoa(len(races)), Note: "How often each order of events was seen where two of them race."}
	var rows []page.Row
	for _, r := range races[:min(len(races), mostFindings)] {
		rows = append(rows, page.Row{Cells: []page.HTML{
			scenarioLink(r.scenario), page.El("span", page.Class("axes"), page.Text(line(r.axes.String()))), page.Text(cut(line(r.orders), mostShort)),
		}})
	}
	if len(rows) > 0 {
		s.Body = page.Table("Races", []page.Column{{Title: "Scenario"}, {Title: "Axes"}, {Title: "Orders"}}, rows) + page.More(len(races)-mostFindings, "race", elsewhere)
	}
	return s
}

// changeSection lists the verdicts that differ from the stored ones, of a run that was
// judged again.
func (v *htmlView) changeSection() page.Section {
	s := page.Section{ID: "changed", Title: "Changed verdicts", Count: strconv.Itoa(len(v.r.Changed))}
	if v.r.Changed == nil {
		return s
	}
	if len(v.r.Changed) == 0 {
		s.Body = page.El("p", nil, page.Text("Every verdict equals the stored one."))
		return s
	}
	var rows []page.Row
	for _, c := range v.r.Changed[:min(len(v.r.Changed), mostFindings)] {
		where := page.Text("the run as a whole")
		if c.Scenario != "" {
			where = scenarioLink(c.Scenario) + page.El("p", page.Class("axes"), page.Text(line(c.Axes.String())))
		}
		rows = append(rows, page.Row{Cells: []page.HTML{ruleLink(c.Rule), page.Text(had(c.Before)), page.Text(had(c.After)), where, said(c.Message, mostShort)}})
	}
	s.Body = page.Table("Changed verdicts", []page.Column{{Title: "Rule"}, {Title: "Before"}, {Title: "Now"}, {Title: "Where"}, {Title: "Message"}}, rows) +
		page.More(len(v.r.Changed)-mostFindings, "verdict", elsewhere)
	return s
}

// originSection says where the report comes from.
func (v *htmlView) originSection() page.Section {
	r := v.r
	facts := []page.Fact{
		{Name: "Tool", Value: page.Text(line(r.Tool.Name + " " + r.Tool.Version))},
		{Name: "Run", Value: page.Name(line(r.Run))},
		{Name: "Target", Value: page.Text(line(r.Target.URL))},
		{Name: "Profile", Value: page.Text(line(r.Profile))},
		{Name: "Duration", Value: page.Text(took(r.DurationMS))},
		{Name: "Exit code", Value: page.Text(strconv.Itoa(r.Exit))},
	}
	if len(r.Target.Shell) > 0 {
		facts = append(facts, page.Fact{Name: "Shell", Value: page.Name(line(strings.Join(r.Target.Shell, " ")))})
	}
	if r.Target.Looks != "" {
		facts = append(facts, page.Fact{Name: "Looks like", Value: page.Text(line(r.Target.Looks))})
	}
	return page.Section{ID: "origin", Title: "Where this report comes from", Body: page.Facts(facts)}
}
