package reports

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"assay/internal/bundle"
	"assay/reports/page"
)

// loadHTML writes the page of a load run: the verdict and its reasons, thresholds, the
// latencies as curves and over time, the outcomes, the counters, and what the driver
// itself took.
func loadHTML(w io.Writer, r *bundle.LoadReport) error {
	v := htmlLoad{r: r}
	curves, timeline := v.curveCharts(), v.timelineCharts()
	sections := []page.Section{
		v.thresholdSection(), v.latencySection(curves), v.timelineSection(timeline), v.outcomeSection(), v.sandboxSection(),
		v.counterSection(), v.driverSection(), v.originSection(),
	}
	return page.Write(w, page.Document{
		Title: "Assay load: " + string(r.Verdict) + ", " + line(r.Target.URL), Charts: append(curves, timeline...),
		Body: v.banner() + page.Layout(sections...) + page.Footer(page.Text(line(r.Tool.Name+" "+r.Tool.Version))),
	})
}

// htmlLoad draws one load report.
type htmlLoad struct{ r *bundle.LoadReport }

func (v htmlLoad) banner() page.HTML {
	r := v.r
	b := LoadEnding(r)
	b.Kicker = "Assay load report"
	if len(r.Reasons) > 0 {
		b.Reasons = reasonList(r.Reasons[1:])
	}
	if why := uncompared(&r.Metrics); why != "" {
		b.Below += page.El("p", page.Class("note"), page.Text("Note: "+cut(line(why), mostShort)))
	}
	switch {
	case r.Interrupted:
		b.Alarm = "The run was interrupted: this covers only its beginning."
	case r.Aborted != "":
		b.Alarm = "The run ended early: " + cut(line(r.Aborted), mostShort)
	}
	target := line(r.Target.URL)
	if r.Target.Embedded {
		target += " (embedded reference gateway)"
	}
	b.Facts = []page.Fact{
		{Name: "Target", Value: page.Text(target)},
		{Name: "Protocol", Value: page.Text(line(r.Target.Protocol + ", " + r.Target.Codec + ", HTTP " + r.Target.HTTP))},
		{Name: "Load", Value: page.Text(planText(&r.Plan))},
		{Name: "Streams", Value: page.Textf("%s completed, %s open at most", grouped(r.Streams.Completed), grouped(r.Streams.OpenPeak))},
		{Name: "Duration", Value: page.Text(took(r.DurationMS))},
	}
	if !r.Started.IsZero() {
		b.Facts = append(b.Facts, page.Fact{Name: "Started", Value: page.Text(started(r.Started))})
	}
	return page.Banner(b)
}

// LoadEnding returns the verdict of a load run as a page shows it at its head.
func LoadEnding(r *bundle.LoadReport) page.Verdict {
	var v page.Verdict
	switch r.Verdict {
	case bundle.LoadPass:
		v.Tone, v.Symbol, v.Word = page.Good, "✓", "Pass"
	case bundle.LoadFail:
		v.Tone, v.Symbol, v.Word = page.Bad, "✗", "Fail"
	default:
		v.Tone, v.Symbol, v.Word = page.Warn, "?", "Inconclusive"
	}
	switch {
	case len(r.Reasons) > 0:
		v.Sentence = capital(cut(line(r.Reasons[0]), mostShort)) + "."
	case r.Verdict != bundle.LoadPass:
		v.Sentence = "No reason was recorded."
	case len(r.Thresholds) == 0:
		v.Sentence = "Every stream ended as it should."
	default:
		v.Sentence = "Every stream ended as it should, and every threshold is met."
	}
	return v
}

func reasonList(reasons []string) page.HTML {
	if len(reasons) == 0 {
		return ""
	}
	var items []page.HTML
	for _, r := range reasons[:min(len(reasons), mostFindings)] {
		items = append(items, page.El("li", nil, page.Text(capital(cut(line(r), mostShort)))))
	}
	return page.El("ul", page.Class("reasons"), items...) + page.More(len(reasons)-mostFindings, "reason", elsewhere)
}

// planText returns the load that was asked for.
func planText(p *bundle.LoadPlan) string {
	text := fmt.Sprintf("%s streams at a time", grouped(int64(p.Streams)))
	if p.Rate > 0 || p.Model == "open" {
		text = fmt.Sprintf("%g streams a second", p.Rate)
		if len(p.Stages) > 1 {
			text = plural(len(p.Stages), "stage") + " of rates"
		}
	}
	return text + " (" + line(loadModel(p)) + ")"
}

// grouped returns a number with thousands separators.
func grouped(n int64) string {
	return strings.TrimSuffix(strings.TrimSuffix(bytesText(n), "s"), " byte")
}

// thresholdSection lists the thresholds, the missed ones first.
func (v htmlLoad) thresholdSection() page.Section {
	s := page.Section{ID: "thresholds", Title: "Thresholds", Count: strconv.Itoa(len(v.r.Thresholds))}
	var rows []page.Row
	for _, wanted := range []string{"missed", "undecided", "met"} {
		for _, th := range v.r.Thresholds {
			word, detail := thresholdText(th)
			if word != wanted || len(rows) == mostFindings {
				continue
			}
			badge := map[string]page.HTML{
				"missed": page.Badge(page.Bad, "✗", word), "undecided": page.Badge(page.Warn, "?", word), "met": page.Badge(page.Good, "✓", word),
			}[word]
			rows = append(rows, page.Row{Cells: []page.HTML{
				page.El("code", nil, page.Text(cut(line(th.Expr), mostShort))), badge, page.Text(cut(line(detail), mostShort)),
			}})
		}
	}
	if len(rows) > 0 {
		s.Body = page.Table("Thresholds", []page.Column{{Title: "Limit"}, {Title: "Result"}, {Title: "Observed"}}, rows) +
			page.More(len(v.r.Thresholds)-len(rows), "threshold", elsewhere)
	}
	return s
}

// latencySection has the table of latencies and their curves.
func (v htmlLoad) latencySection(charts []page.Chart) page.Section {
	columns := []page.Column{{Title: "Distribution"}, {Title: "Values", Number: true}}
	for _, q := range loadQuantiles {
		columns = append(columns, page.Column{Title: q, Number: true})
	}
	var rows []page.Row
	row := func(name page.HTML, l *bundle.Latency) {
		cells := []page.HTML{name, page.Text(grouped(l.Count))}
		for _, us := range []int64{l.P50, l.P90, l.P99, l.P999, l.Max} {
			if l.Count == 0 {
				cells = append(cells, page.El("span", page.Class("zero"), page.Text("–")))
				continue
			}
			cells = append(cells, page.Text(shortSpan(us)))
		}
		rows = append(rows, page.Row{Cells: cells})
	}
	for _, d := range loadMetrics(v.r) {
		row(page.Text(capital(d.name)), d.total)
		for _, c := range d.classes[:min(len(d.classes), mostNames)] {
			row(page.El("span", page.Class("class"), page.Text(cut(line(c.name), mostShort))), c.of)
		}
	}
	body := page.Table("Latencies", columns, rows)
	for _, text := range latencyNotes(v.r) {
		body += page.El("p", page.Class("note"), page.Text("Note: "+cut(text, mostShort)))
	}
	return page.Section{ID: "latency", Title: "Latency", Body: body + figures(charts)}
}

// figures draws charts one below another.
func figures(charts []page.Chart) page.HTML {
	if len(charts) == 0 {
		return ""
	}
	var out []page.HTML
	for _, c := range charts {
		out = append(out, c.Figure())
	}
	return page.El("div", page.Class("charts"), out...)
}

func (v htmlLoad) timelineSection(charts []page.Chart) page.Section {
	return page.Section{ID: "timeline", Title: "Over time", Body: figures(charts)}
}

// outcomeSection counts the streams by outcome and class, and has examples of failures.
func (v htmlLoad) outcomeSection() page.Section {
	r := v.r
	columns := []page.Column{{Title: "Outcome"}, {Title: "Streams", Number: true}}
	classes := r.Classes[:min(len(r.Classes), mostPlaces+3)]
	for _, c := range classes {
		columns = append(columns, page.Column{Title: cut(line(c.Name), 40), Number: true})
	}
	var rows []page.Row
	for o, n := range r.Streams.Outcomes.All() {
		if n == 0 {
			continue
		}
		tone, symbol := page.Good, "✓"
		if o.Failed() {
			tone, symbol = page.Bad, "✗"
		} else if o == bundle.StreamBlocked || o == bundle.StreamCancelled {
			tone, symbol = page.Warn, "?"
		}
		cells := []page.HTML{page.Badge(tone, symbol, strings.ReplaceAll(o.String(), "_", " ")), page.Text(grouped(n))}
		for _, c := range classes {
			cells = append(cells, page.Text(grouped(c.Outcomes[o])))
		}
		rows = append(rows, page.Row{Cells: cells})
	}
	body := page.El("p", nil, page.Text(capital(streamsText(&r.Streams))+". "+capital(outputText(r))+"."))
	if text := ratesText(r); text != "" {
		body += page.El("p", nil, page.Text("On average "+text+" a second."))
	}
	if len(rows) > 0 {
		body += page.Table("Streams by outcome", columns, rows)
	}
	body += classTable(r) + exampleTable(r)
	return page.Section{ID: "outcomes", Title: "Outcomes", Count: grouped(r.Streams.Completed), Body: body}
}

// classTable describes the classes of the plan.
func classTable(r *bundle.LoadReport) page.HTML {
	if len(r.Classes) == 0 {
		return ""
	}
	var rows []page.Row
	for _, c := range r.Classes[:min(len(r.Classes), mostNames)] {
		rows = append(rows, page.Row{Cells: []page.HTML{
			page.Text(cut(line(c.Name), mostShort)), page.Textf("%.0f %%", c.Share*100), page.Text(cut(line(c.Protocol+", "+c.Codec), mostShort)),
			page.El("code", nil, page.Text(cut(line(c.Command), mostShort))), page.Text(grouped(c.Completed)), page.Text(grouped(c.Outcomes.Failed())),
		}})
	}
	return page.Table("Classes of the plan", []page.Column{
		{Title: "Class"}, {Title: "Share", Number: true}, {Title: "Protocol"}, {Title: "Command"}, {Title: "Completed", Number: true}, {Title: "Failed", Number: true},
	}, rows)
}

// exampleTable has the first message of each kind of failure.
func exampleTable(r *bundle.LoadReport) page.HTML {
	if len(r.Examples) == 0 {
		return ""
	}
	var rows []page.Row
	for _, e := range r.Examples[:min(len(r.Examples), mostFindings)] {
		rows = append(rows, page.Row{Cells: []page.HTML{
			page.Text(line(strings.ReplaceAll(e.Outcome, "_", " "))), page.Text(grouped(e.Stream)), page.Text(grouped(max(1, e.Times))), said(e.Message, mostShort),
		}})
	}
	return page.Table("Examples", []page.Column{{Title: "Outcome"}, {Title: "Stream", Number: true}, {Title: "Times", Number: true}, {Title: "Message"}}, rows) +
		page.More(len(r.Examples)-mostFindings, "example", elsewhere)
}

func (v htmlLoad) sandboxSection() page.Section {
	s := page.Section{ID: "sandboxes", Title: "Sandboxes"}
	b := v.r.Sandboxes
	if b == nil {
		return s
	}
	s.Body = page.Facts([]page.Fact{
		{Name: "Control plane", Value: page.Text(cut(line(b.ControlPlane), mostShort))}, {Name: "Template", Value: page.Text(cut(line(b.Template), mostShort))},
	}) + page.El("p", nil, page.Text(capital(sandboxesText(b))+"."))
	var items []page.HTML
	for _, m := range b.Messages[:min(len(b.Messages), mostFindings)] {
		items = append(items, page.El("li", nil, page.Text(cut(line(m), mostShort))))
	}
	if len(items) > 0 {
		s.Body += page.El("ul", nil, items...)
	}
	return s
}
