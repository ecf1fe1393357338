package reports

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/record/bundle"
	"assay/reports/page"
)

// The limits of a page, so that a run with ten thousand failures is still one that opens. The JSON report has all.
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

// writeHTML draws a document as one page that needs no other file, and no script: the verdict, the contents, and the
// sections. However much there is to tell, the page stays small: what it leaves out it counts.
func writeHTML(w io.Writer, d *document) error {
	var sections []page.Section
	var charts []page.Chart
	for _, s := range d.sections {
		if !s.shows(inPage) {
			continue
		}
		out := page.Section{ID: s.id, Title: s.title, Note: s.note, Body: blocksHTML(s.body)}
		if s.count > 0 {
			out.Count = strconv.Itoa(s.count)
		}
		sections = append(sections, out)
		for _, b := range s.body {
			if f, ok := b.(figures); ok {
				charts = append(charts, f...)
			}
		}
	}
	b := d.verdict.page()
	b.Kicker, b.Alarm, b.Facts = d.kind, d.alarm, append(d.facts.page(), d.details.page()...)
	var tally []page.HTML
	for _, s := range d.tally {
		tally = append(tally, page.El("li", nil, page.Link(page.ID("verdict", s.to), s.html())))
	}
	if len(tally) > 0 {
		b.Below = page.El("ul", page.At("class", "tally", "aria-label", "Runs by verdict"), tally...)
	}
	for _, n := range d.notes {
		b.Below += page.El("p", page.Class("note"), page.Text("Note: "+short(n)))
	}
	title := d.kind + ": " + strings.ToLower(d.verdict.word)
	if d.about != "" {
		title += ", " + line(d.about)
	}
	return page.Write(w, page.Document{Title: title, Charts: charts, Body: page.Banner(b) + page.Layout(sections...) + page.Footer(page.Text(line(d.footer)))})
}

// page returns the verdict as a page shows it at its head.
func (v verdict) page() page.Verdict {
	out := page.Verdict{Tone: v.tone, Symbol: v.symbol, Word: capital(strings.ToLower(v.word))}
	reasons := v.reasons
	if out.Sentence = v.sentence; out.Sentence == "" && len(reasons) > 0 {
		out.Sentence, reasons = reasons[0], reasons[1:]
	}
	if out.Sentence = short(out.Sentence); out.Sentence != "" {
		out.Sentence = capital(out.Sentence) + "."
	}
	if len(reasons) > 0 {
		out.Reasons = page.El("ul", page.Class("reasons"), itemsHTML(capitals(reasons))...) + page.More(len(reasons)-mostFindings, "reason", elsewhere)
	}
	return out
}

// capitals returns texts with capitals at their beginning.
func capitals(all []string) (out []text) {
	for _, s := range all {
		out = append(out, say(capital(line(s))))
	}
	return out
}

func (all facts) page() (out []page.Fact) {
	for _, f := range all {
		out = append(out, page.Fact{Name: capital(line(f.name)), Value: textHTML(f.value)})
	}
	return out
}

// short cuts a text of any origin for a line of a page.
func short(s string) string { return cut(line(s), mostShort) }

func blocksHTML(all []block) (out page.HTML) {
	for _, b := range all {
		switch b := b.(type) {
		case text:
			out += page.El("p", nil, textHTML(b))
		case facts:
			out += page.Facts(b.page())
		case items:
			out += page.El("ul", nil, itemsHTML(b.all)...) + page.More(len(b.all)-mostFindings, "item", elsewhere)
		case table:
			out += tableHTML(b)
		case figures:
			var drawn []page.HTML
			for _, c := range b {
				drawn = append(drawn, c.Figure())
			}
			if len(drawn) > 0 {
				out += page.El("div", page.Class("charts"), drawn...)
			}
		case foldable:
			attrs := page.Class("group")
			if b.id != "" {
				attrs = append(attrs, "id", b.id)
			}
			out += page.Details(attrs, b.open, textHTML(b.title), blocksHTML(b.body)) + "\n"
		case filtered:
			out += page.Filter(b.id, b.label, b.kinds) + page.El("div", page.At("id", b.id), blocksHTML(b.body))
		case cards:
			for _, c := range b.all[:min(len(b.all), b.most)] {
				out += cardHTML(c)
			}
			out += page.More(len(b.all)-b.most, b.noun, elsewhere)
		case place:
			out += evidenceHTML(b)
		case command:
			out += page.Command(cut(line(string(b)), mostCommand))
		}
	}
	return out
}

func itemsHTML(all []text) (out []page.HTML) {
	for _, t := range all[:min(len(all), mostFindings)] {
		out = append(out, page.El("li", nil, textHTML(t)))
	}
	return out
}

// textHTML draws a text; each part of it is cut.
func textHTML(t text) (out page.HTML) {
	for _, s := range t {
		out += s.html()
	}
	return out
}

func (s part) html() page.HTML {
	switch s.as {
	case asStrong:
		return page.El("strong", nil, page.Text(short(s.text)))
	case asFaint:
		return page.El("span", page.Class("axes"), page.Text(short(s.text)))
	case asName:
		if s.to == "" {
			return page.Name(line(s.text))
		}
		return page.Link(page.ID(s.to, s.text), page.Name(line(s.text)))
	case asNames:
		var parts []page.HTML
		for _, n := range s.names[:min(len(s.names), mostNames)] {
			parts = append(parts, ref(s.to, n).html())
		}
		out := page.Join(parts, page.Text(", "))
		if more := len(s.names) - mostNames; more > 0 {
			out += page.Textf(" and %d more", more)
		}
		return out
	case asBadge:
		return page.Badge(s.look.tone, s.look.symbol, line(s.text)) + " "
	case asQuote:
		return quoteHTML(s.text, mostShort)
	case asBelow:
		if s.text == "" {
			return ""
		}
		return page.El("p", page.Class("small"), page.Text(short(s.text)))
	case asSource:
		return page.El("code", nil, page.Text(short(s.text)))
	case asLevel:
		return page.El("span", page.Class("level"), page.Text(line(s.text)))
	default:
		return page.Text(short(s.text))
	}
}

// quoteHTML draws a message with its lines, cut to n columns.
func quoteHTML(text string, n int) page.HTML {
	if text == "" {
		return ""
	}
	text = strings.TrimRight(clean(text), "\n ")
	if len(text) > 4*n || width(text) > n {
		text = cut(text, n)
	}
	return page.El("p", page.Class("message"), page.Text(text))
}

func tableHTML(t table) page.HTML {
	most := t.most
	if most == 0 {
		most = mostFindings
	}
	var rows []page.Row
	for _, r := range t.rows[:min(len(t.rows), most)] {
		out := page.Row{}
		if r.id != "" {
			out.Attrs = page.At("id", r.id)
		}
		if r.kind != "" {
			out.Attrs = append(out.Attrs, "data-row", r.kind)
		}
		for i, c := range r.cells {
			cell := textHTML(c)
			if i == 0 && r.detail != nil {
				cell += page.Details(page.Class("wide"), false, textHTML(r.detail.title), blocksHTML(r.detail.body))
			}
			out.Cells = append(out.Cells, cell)
		}
		rows = append(rows, out)
	}
	return page.Table(t.title, t.columns, rows) + page.More(len(t.rows)-most, t.noun, elsewhere)
}

// cardHTML draws a broken rule with its verdict, sentence and source, its places, and what follows from it.
func cardHTML(c card) page.HTML {
	r := c.rule
	body := page.El("h3", nil, textHTML(say(verdictOf(r.Verdict), ref("rule", r.ID), " ", levelOf(r.Level))))
	if r.Text != "" {
		body += page.El("p", page.Class("rule-text"), page.Text(line(r.Text)))
	}
	if r.Source != "" {
		body += page.El("p", page.Class("source"), page.Text(line(r.Source)))
	}
	if r.Verdict == bundle.Error {
		body += page.El("p", page.Class("note"), page.Text(assayDefect))
	}
	for i, p := range c.places {
		if i == mostPlaces {
			body += page.More(len(c.places)-i, "place", "below the scenarios, or "+elsewhere)
			break
		}
		if i > 0 {
			p.excerpt, p.again = "", nil
		}
		where := page.Text(p.where())
		if p.scenario != "" {
			where = ref("scenario", p.scenario).html()
		}
		where += page.Text(" ") + faintly(axesText(p.axes)).html()
		body += page.El("div", page.Class("place"), page.El("p", page.Class("where"), where), evidenceHTML(p))
	}
	for _, n := range c.names {
		n = slices.Clone(n)
		n[0].text = capital(n[0].text)
		body += page.El("p", page.Class("names"), textHTML(n))
	}
	attrs := page.Class("card " + string(lookOf(r.Verdict).tone))
	if c.id != "" {
		attrs = append(attrs, "id", c.id)
	}
	return page.El("article", attrs, body) + "\n"
}

// evidenceHTML draws what was seen instead of what the rule wants, the bytes, and the commands that show it again.
func evidenceHTML(p place) page.HTML {
	body := quoteHTML(p.verdict.Message, mostMessage)
	if p.verdict.Seen != "" {
		body += below("seen: " + p.verdict.Seen).html()
	}
	if len(p.verdict.Counts) > 0 {
		body += below("orders: " + ordersText(p.verdict.Counts)).html()
	}
	body += excerptHTML(p.excerpt)
	if len(p.again) == 0 && p.replay != "" {
		return body + page.Command(cut(line(p.replay), mostCommand))
	}
	for _, r := range p.again {
		text, tried := strings.TrimRight(clean(r.Text), "\n"), page.HTML("")
		if said := triedText(r); said != "" {
			tried = page.El("span", page.Class("small"), page.Text(" "+said))
		}
		switch {
		case len(text) > mostCommand:
			body += page.El("p", page.Class("small"), page.Text("a script to reproduce it is "+elsewhere), tried)
		case strings.Contains(text, "\n"):
			body += page.Details(nil, false, page.Text("Script that reproduces it ("+line(string(r.Kind))+")")+tried, page.Command(text))
		default:
			body += page.Command(text) + tried
		}
	}
	return body
}

// excerptHTML draws the bytes around a breach; the offending ones are marked.
func excerptHTML(text string) page.HTML {
	if text == "" {
		return ""
	}
	lines := strings.Split(strings.TrimRight(clean(text), "\n"), "\n")
	var out page.HTML
	for i, l := range lines {
		class := ""
		switch {
		case strings.Contains(l, "◀") || underMark(l) >= 0:
			class = "said"
		case strings.Contains(l, " folded"):
			class = "quiet"
		}
		drawn := page.Text(l)
		if i+1 < len(lines) {
			drawn = markedByte(l, underMark(lines[i+1]))
		}
		if class != "" {
			drawn = page.El("span", page.Class(class), drawn)
		}
		out += drawn + "\n"
	}
	return page.Block("Bytes on the wire", out)
}

// underMark returns the column of ^^ in a line that has nothing before it; -1 for none.
func underMark(l string) int {
	trimmed := strings.TrimLeft(l, " ")
	if !strings.HasPrefix(trimmed, "^^") {
		return -1
	}
	return len(l) - len(trimmed)
}

// markedByte draws a line with a mark on the two digits at a column; a column outside the
// line marks nothing. The columns of a dump are ASCII up to its text.
func markedByte(l string, column int) page.HTML {
	if column < 0 || column+2 > len(l) || strings.TrimSpace(l[column:column+2]) == "" || !isASCII(l[:column+2]) {
		return page.Text(l)
	}
	return page.Text(l[:column]) + page.El("mark", nil, page.Text(l[column:column+2])) + page.Text(l[column+2:])
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// capital returns text with a capital at its beginning.
func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// started returns the beginning of a run.
func started(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
