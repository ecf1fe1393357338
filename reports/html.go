package reports

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/bundle"
	"assay/reports/page"
)

// HTML writes one page that needs no other file: the verdict, the causes with their
// evidence, the other broken rules, advisories and what is undecided, every rule by area,
// every scenario, what was not tested, and where the report comes from. It works without
// scripts. However much a run has to tell, the page stays small: what it leaves out it
// counts, and the JSON report has it.
func HTML(w io.Writer, r *bundle.Report) error {
	v := htmlView{r: r, causes: causesOf(r)}
	sections := []page.Section{
		v.causeSection(), v.brokenSection(), v.defectSection(), v.advisorySection(), v.openSection(),
		v.ruleSection(), v.scenarioSection(), v.scopeSection(), v.deviationSection(), v.raceSection(), v.changeSection(), v.originSection(),
	}
	word, _ := verdictText(r)
	return page.Write(w, page.Document{
		Title: "Assay: " + strings.ToLower(word) + ", " + line(r.Target.URL),
		Body:  v.banner() + page.Layout(sections...) + page.Footer(page.Text(line(r.Tool.Name+" "+r.Tool.Version)+", run "+line(r.Run))),
	})
}

// htmlView draws one report.
type htmlView struct {
	r      *bundle.Report
	causes []cause
	// excerpts counts the excerpts below the scenarios.
	excerpts int
}

// The limits of a page, so that a run with ten thousand failures is still one that opens.
const (
	mostCauses   = 50
	mostFindings = 100
	mostPlaces   = 5
	mostRuleRows = 1500
	mostRuns     = 2000 // rows of scenarios
	mostExcerpts = 60   // below the scenarios
	mostNames    = 40
	mostMessage  = 2000 // columns
	mostShort    = 400
	mostCommand  = 12000
	elsewhere    = "in the JSON report"
)

// look is how a verdict is shown.
type look struct {
	tone   page.Tone
	symbol string
}

func lookOf(c bundle.Conclusion) look {
	switch c {
	case bundle.Pass:
		return look{page.Good, "✓"}
	case bundle.Fail:
		return look{page.Bad, "✗"}
	case bundle.UnexpectedPass:
		return look{page.Bad, "‼"}
	case bundle.Error:
		return look{page.Bad, "⚠"}
	case bundle.Flaky:
		return look{page.Bad, "≠"}
	case bundle.Inconclusive:
		return look{page.Warn, "?"}
	case bundle.Advisory:
		return look{page.Warn, "!"}
	case bundle.Deviation:
		return look{page.Info, "≈"}
	case bundle.KnownFailure:
		return look{page.Info, "◆"}
	case bundle.Unsupported:
		return look{page.Mute, "–"}
	case bundle.NotRun:
		return look{page.Mute, "○"}
	default: // of a later version
		return look{page.Mute, "•"}
	}
}

// verdictBadge returns a verdict with its symbol.
func verdictBadge(c bundle.Conclusion) page.HTML {
	l := lookOf(c)
	return page.Badge(l.tone, l.symbol, verdictWord(c))
}

// verdictWord returns a verdict in words.
func verdictWord(c bundle.Conclusion) string { return strings.ReplaceAll(line(string(c)), "-", " ") }

// runLook returns how the verdict of a run is shown.
func runLook(exit int) look {
	switch exit {
	case 0:
		return look{page.Good, "✓"}
	case 1:
		return look{page.Bad, "✗"}
	case 4:
		return look{page.Bad, "⚠"}
	default:
		return look{page.Warn, "?"}
	}
}

func (v *htmlView) banner() page.HTML {
	r := v.r
	target := page.Text(line(r.Target.URL))
	if r.Target.Embedded {
		target += page.Text(" (embedded reference gateway)")
	}
	ids := map[string]bool{}
	for _, s := range r.Scenarios {
		ids[s.ID] = true
	}
	facts := []page.Fact{
		{Name: "Target", Value: target},
		{Name: "Profile", Value: page.Text(line(r.Profile))},
		{Name: "Selected", Value: page.Text(plural(len(ids), "scenario") + ", " + plural(len(r.Scenarios), "run") + ", " + plural(len(r.Rules), "rule"))},
		{Name: "Duration", Value: page.Text(took(r.DurationMS))},
	}
	if !r.Started.IsZero() {
		facts = append(facts, page.Fact{Name: "Started", Value: page.Text(started(r.Started))})
	}
	var notes page.HTML
	for _, n := range append(slices.Clone(r.Notes), suggestion(r)) {
		if n != "" {
			notes += page.El("p", page.Class("note"), page.Text("Note: "+line(n)))
		}
	}
	b := Ending(r)
	b.Kicker, b.Alarm, b.Facts, b.Below = "Assay conformance report", diedText(r), facts, v.tally()+notes
	return page.Banner(b)
}

// Ending returns the verdict of a run as a page shows it at its head.
func Ending(r *bundle.Report) page.Verdict {
	word, sentence := verdictText(r)
	l := lookOf(shownAs(r))
	return page.Verdict{Tone: l.tone, Symbol: l.symbol, Word: capital(strings.ToLower(word)), Sentence: capital(sentence) + "."}
}

// tally returns the number of runs for each verdict, worst first.
func (v *htmlView) tally() page.HTML {
	var items []page.HTML
	all := bundle.Conclusions()
	slices.Reverse(all)
	for _, c := range all {
		if n := v.r.Counts[c]; n > 0 {
			l := lookOf(c)
			items = append(items, page.El("li", nil, page.Link(groupID(c), page.Badge(l.tone, l.symbol, strconv.Itoa(n)+" "+verdictWord(c)))))
		}
	}
	if len(items) == 0 {
		return ""
	}
	return page.El("ul", page.At("class", "tally", "aria-label", "Runs by verdict"), items...)
}

// started returns the beginning of a run.
func started(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// capital returns text with a capital at its beginning.
func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// ruleLink returns the id of a rule as a link to its row.
func ruleLink(id string) page.HTML {
	return page.Link(page.ID("rule", id), page.Name(line(id)))
}

// scenarioLink returns the id of a scenario as a link to its row.
func scenarioLink(id string) page.HTML {
	return page.Link(page.ID("scenario", id), page.Name(line(id)))
}

// links returns some names as links, and the number of the others.
func links(names []string, most int, link func(string) page.HTML) page.HTML {
	var parts []page.HTML
	for _, n := range names[:min(len(names), most)] {
		parts = append(parts, link(n))
	}
	text := page.Join(parts, page.Text(", "))
	if more := len(names) - most; more > 0 {
		text += page.Textf(" and %d more", more)
	}
	return text
}

// levelTag returns the level of a rule.
func levelTag(level string) page.HTML {
	if level == "" {
		return ""
	}
	return page.El("span", page.Class("level"), page.Text(line(level)))
}

// said returns a message with its lines, cut to n columns.
func said(text string, n int) page.HTML {
	if text == "" {
		return ""
	}
	text = strings.TrimRight(clean(text), "\n ")
	if len(text) > 4*n || width(text) > n {
		text = cut(text, n)
	}
	return page.El("p", page.Class("message"), page.Text(text))
}
