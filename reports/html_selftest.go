package reports

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"assay/internal/bundle"
	"assay/reports/page"
)

// SelftestHTML writes the page of a self-test: the verdict, the survivors and the blamed
// variants, every fault with the rules that it breaks and the scenarios that detect it,
// the variants, and the scenarios that detect nothing.
func SelftestHTML(w io.Writer, r *bundle.SelftestReport) error {
	sections := []page.Section{survivorSection(r), blamedSection(r), faultSection(r), variantSection(r), idleSection(r)}
	word, sentence := selftestVerdict(r)
	b := page.Verdict{Kicker: "Assay self-test", Tone: page.Bad, Symbol: "✗", Word: capital(strings.ToLower(word)), Sentence: capital(sentence) + "."}
	switch word {
	case "TRUSTED":
		b.Tone, b.Symbol = page.Good, "✓"
	case "NOT TRUSTED":
	default:
		b.Tone, b.Symbol = page.Warn, "?"
	}
	killed, clean := selftestScore(r)
	b.Facts = []page.Fact{
		{Name: "Faults detected", Value: page.Textf("%d of %d (%.0f %%)", killed, len(r.Faults), r.Score*100)},
		{Name: "Legal variants accepted", Value: page.Textf("%d of %d", clean, len(r.Variants))},
		{Name: "Exit code", Value: page.Text(strconv.Itoa(r.Exit))},
	}
	if r.Shard != "" {
		b.Facts = append(b.Facts, page.Fact{Name: "Part", Value: page.Text(line(r.Shard))})
	}
	return page.Write(w, page.Document{Title: "Assay self-test: " + strings.ToLower(word), Body: page.Banner(b) + page.Layout(sections...)})
}

// survivorSection draws the faults that no scenario detected.
func survivorSection(r *bundle.SelftestReport) page.Section {
	s := page.Section{ID: "survivors", Title: "Survivors", Note: "Faults that no scenario detected: a scenario is missing, or too lenient."}
	n := 0
	for _, f := range r.Faults {
		if f.Killed {
			continue
		}
		n++
		if n > mostFindings {
			continue
		}
		body := page.El("h3", nil, page.Badge(page.Bad, "✗", "survived"), page.Text(" "), faultLink(f.ID)) + page.El("p", page.Class("rule-text"), page.Text(line(f.Title)))
		body += page.El("p", page.Class("names"), page.Text("It breaks "), links(f.Breaks, mostNames, plainName))
		if f.Saw != "" {
			body += page.El("p", page.Class("small"), page.Text("seen instead: "+cut(line(f.Saw), mostShort)))
		}
		s.Body += page.El("article", page.Class("card bad"), body)
	}
	s.Count = strconv.Itoa(n)
	s.Body += page.More(n-mostFindings, "survivor", elsewhere)
	return s
}

// blamedSection draws the faults that break rules which do not follow from their own.
func blamedSection(r *bundle.SelftestReport) page.Section {
	s := page.Section{ID: "blamed", Title: "Unrelated blame", Note: "Faults that break rules which do not follow from the rules that they name, or that have more than two causes."}
	var rows []page.Row
	for _, f := range r.Faults {
		if !f.Misblamed() || len(rows) == mostFindings {
			continue
		}
		var rules []page.HTML
		for _, b := range f.Blame {
			if !b.Attached && len(rules) < mostNames {
				rules = append(rules, page.El("li", nil, page.Name(line(b.Rule)), page.Text(": "+cut(line(b.Message), mostShort))))
			}
		}
		rows = append(rows, page.Row{Cells: []page.HTML{faultLink(f.ID), links(f.Causes, mostNames, plainName), page.El("ul", nil, rules...)}})
	}
	s.Count = strconv.Itoa(len(rows))
	if len(rows) > 0 {
		s.Body = page.Table("Unrelated blame", []page.Column{{Title: "Fault"}, {Title: "Causes"}, {Title: "Rules that nothing explains"}}, rows)
	}
	return s
}

// faultSection is the matrix of the faults, the survivors first.
func faultSection(r *bundle.SelftestReport) page.Section {
	s := page.Section{ID: "faults", Title: "Faults", Count: strconv.Itoa(len(r.Faults)),
		Note: "Each fault is a gateway that is broken in one way, after a bug of a real one. It is killed when a rule that it breaks fails."}
	var rows []page.Row
	for _, killed := range []bool{false, true} {
		for _, f := range r.Faults {
			if f.Killed == killed && len(rows) < mostRuleRows {
				rows = append(rows, faultRow(f))
			}
		}
	}
	if len(rows) == 0 {
		return s
	}
	columns := []page.Column{{Title: "Fault"}, {Title: "Result"}, {Title: "Breaks"}, {Title: "Detected by"}}
	s.Body = page.Filter("fault-list", "Filter faults", []string{"killed", "survived"}) +
		page.El("div", page.At("id", "fault-list"), page.Table("Faults", columns, rows)) + page.More(len(r.Faults)-len(rows), "fault", elsewhere)
	return s
}

func faultRow(f bundle.FaultResult) page.Row {
	name := page.Name(line(f.ID))
	if f.Title != "" && f.Title != f.ID {
		name += page.El("p", page.Class("title"), page.Text(cut(line(f.Title), mostShort)))
	}
	if f.Source != "" {
		name += page.El("p", page.Class("source"), page.Text("from "+cut(line(f.Source), mostShort)))
	}
	badge, kind := page.Badge(page.Good, "✓", "killed"), "killed"
	if !f.Killed {
		badge, kind = page.Badge(page.Bad, "✗", "survived"), "survived"
	}
	by := links(f.By, mostPlaces, plainName)
	if f.Killed && f.Saw != "" {
		by += page.El("p", page.Class("small"), page.Text(cut(line(f.Saw), mostShort)))
	}
	if f.Causes != nil {
		by += page.El("p", page.Class("small"), page.Text(fmt.Sprintf("%s, %d rules follow, %d unrelated", plural(len(f.Causes), "cause"), len(f.Blame)-f.Unattached, f.Unattached)))
	}
	return page.Row{Attrs: page.At("id", page.ID("fault", f.ID), "data-row", kind), Cells: []page.HTML{name, badge, links(f.Breaks, mostNames, plainName), by}}
}

func faultLink(id string) page.HTML { return page.Link(page.ID("fault", id), page.Name(line(id))) }

// plainName is a name without a link: the page of a self-test has no rows for it.
func plainName(id string) page.HTML { return page.Name(line(id)) }

// variantSection lists the legal variants, the blamed ones first.
func variantSection(r *bundle.SelftestReport) page.Section {
	s := page.Section{ID: "variants", Title: "Variants", Count: strconv.Itoa(len(r.Variants)), Note: "Each variant is a gateway that is unusual, but legal: no scenario may blame it."}
	var rows []page.Row
	for _, clean := range []bool{false, true} {
		for _, v := range r.Variants {
			if v.Clean != clean || len(rows) == mostRuleRows {
				continue
			}
			badge, by := page.Badge(page.Good, "✓", "clean"), v.Once
			if !v.Clean {
				badge, by = page.Badge(page.Bad, "✗", "blamed"), v.Failing
			}
			said := links(by, mostPlaces, func(text string) page.HTML { return page.Text(cut(line(text), mostShort)) })
			if v.Clean && len(by) > 0 {
				said = page.Text("failed once, passed when run alone: ") + said
			}
			rows = append(rows, page.Row{Cells: []page.HTML{page.Name(line(v.ID)), badge, said}})
		}
	}
	if len(rows) > 0 {
		s.Body = page.Table("Variants", []page.Column{{Title: "Variant"}, {Title: "Result"}, {Title: "Blamed by"}}, rows) + page.More(len(r.Variants)-len(rows), "variant", elsewhere)
	}
	return s
}

// idleSection lists the scenarios that killed no fault.
func idleSection(r *bundle.SelftestReport) page.Section {
	s := page.Section{ID: "idle", Title: "Scenarios that kill no fault", Count: strconv.Itoa(len(r.IdleScenarios))}
	if len(r.IdleScenarios) > 0 {
		ids := slices.Sorted(slices.Values(r.IdleScenarios))
		s.Body = page.El("p", page.Class("names"), links(ids, 10*mostNames, plainName))
	}
	return s
}
