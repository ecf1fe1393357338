package reports

import (
	"slices"
	"strconv"

	"assay/internal/bundle"
	"assay/reports/page"
)

// brokenSection draws the broken rules that belong to no cause, and in short those that
// follow from one.
func (v *htmlView) brokenSection() page.Section {
	all := findingsOf(v.r, bundle.Fail, bundle.Flaky, bundle.UnexpectedPass)
	others := unexplained(v.r, all)
	s := page.Section{ID: "broken", Title: "Broken rules", Count: strconv.Itoa(len(all))}
	if len(v.causes) > 0 {
		s.Title = "Other broken rules"
		s.Count = strconv.Itoa(len(all) - len(v.causes))
	}
	for i, f := range others {
		if i == mostFindings {
			s.Body += page.More(len(others)-i, "broken rule", elsewhere)
			break
		}
		s.Body += v.finding(f)
	}
	s.Body += v.following(all)
	return s
}

// finding draws a rule with its places.
func (v *htmlView) finding(f finding) page.HTML {
	body := ruleHeader(f.rule)
	for i, p := range f.places {
		if i == mostPlaces {
			body += page.More(len(f.places)-i, "place", "below the scenarios, or "+elsewhere)
			break
		}
		if i > 0 {
			p.excerpt, p.again = "", nil
		}
		body += v.place(p)
	}
	return page.El("article", page.Class("card "+string(lookOf(f.rule.Verdict).tone)), body) + "\n"
}

// following lists the rules that follow from causes.
func (v *htmlView) following(all []finding) page.HTML {
	by := explained(v.r)
	var rows []page.Row
	more := 0
	for _, f := range all {
		if len(by[f.rule.ID]) == 0 {
			continue
		}
		if len(rows) == mostFindings {
			more++
			continue
		}
		rows = append(rows, page.Row{Cells: []page.HTML{
			ruleLink(f.rule.ID), links(by[f.rule.ID], mostPlaces, ruleLink), page.Text(strconv.Itoa(len(f.scenarios()))),
			page.Text(cut(line(f.places[0].verdict.Message), mostShort)),
		}})
	}
	if len(rows) == 0 {
		return ""
	}
	table := page.Table("Rules that follow from the causes", []page.Column{{Title: "Rule"}, {Title: "Follows from"}, {Title: "Scenarios", Number: true}, {Title: "First message"}}, rows)
	return page.Details(page.Class("group"), len(rows) <= 10, page.Text("Rules that follow from the causes")+page.El("span", page.Class("count"), page.Text(strconv.Itoa(len(rows)+more))),
		table, page.More(more, "rule", elsewhere))
}

func (v *htmlView) defectSection() page.Section {
	all := findingsOf(v.r, bundle.Error)
	s := page.Section{ID: "defects", Title: "Defects in Assay", Count: strconv.Itoa(len(all)), Note: "These are defects in Assay or its environment, not in the target."}
	for i, f := range all {
		if i == mostFindings {
			s.Body += page.More(len(all)-i, "defect", elsewhere)
			break
		}
		s.Body += v.finding(f)
	}
	return s
}

func (v *htmlView) advisorySection() page.Section {
	all := findingsOf(v.r, bundle.Advisory)
	return page.Section{ID: "advisories", Title: "Advisories", Count: strconv.Itoa(len(all)),
		Note: "Rules of level should or may that are broken. They do not change the verdict, unless --strict is given.", Body: briefTable("Advisories", all)}
}

// briefTable lists rules with one verdict, each with its first message.
func briefTable(caption string, all []finding) page.HTML {
	if len(all) == 0 {
		return ""
	}
	var rows []page.Row
	for _, f := range all[:min(len(all), mostFindings)] {
		where := page.Text("the run")
		if ids := f.scenarios(); len(ids) > 0 {
			where = links(ids, 3, scenarioLink)
		}
		rows = append(rows, page.Row{Cells: []page.HTML{
			ruleLink(f.rule.ID) + " " + levelTag(f.rule.Level),
			said(f.places[0].verdict.Message, mostShort) + page.El("p", page.Class("small"), page.Text(line(f.rule.Text))), where,
		}})
	}
	return page.Table(caption, []page.Column{{Title: "Rule"}, {Title: "Seen"}, {Title: "Scenarios"}}, rows) + page.More(len(all)-mostFindings, "rule", elsewhere)
}

// openSection lists what could not be judged, by reason.
func (v *htmlView) openSection() page.Section {
	told := unjudged(v.r)
	all := reasonsOf(v.r, told)
	rules, _ := total(all)
	s := page.Section{ID: "undecided", Title: "Undecided", Count: strconv.Itoa(rules), Note: "Rules that could not be judged, by reason. They neither hold nor fail."}
	var rows []page.Row
	for _, r := range all[:min(len(all), mostFindings)] {
		names := make([]string, 0, len(r.rules))
		for id := range r.rules {
			names = append(names, id)
		}
		slices.Sort(names)
		rows = append(rows, page.Row{Cells: []page.HTML{
			page.Text(cut(r.saying(), mostShort)), links(names, mostPlaces, ruleLink), page.Text(strconv.Itoa(len(r.runs))), firstScenario(r),
		}})
	}
	if len(rows) > 0 {
		s.Body = page.Table("Reasons", []page.Column{{Title: "Reason"}, {Title: "Rules"}, {Title: "Runs", Number: true}, {Title: "First seen in"}}, rows) +
			page.More(len(all)-mostFindings, "reason", elsewhere)
	}
	return s
}

func firstScenario(r reason) page.HTML {
	if r.first == "" {
		return page.Text("the run as a whole")
	}
	return scenarioLink(r.first)
}
