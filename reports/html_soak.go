package reports

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"assay/internal/bundle"
	"assay/reports/page"
)

// soakHTML writes the page of a soak: the verdict and its reasons, what changed when, every series with its
// curve, the injected faults, and the windows.
func soakHTML(w io.Writer, r *bundle.SoakReport) error {
	v := htmlSoak{r}
	charts := v.charts()
	return page.Write(w, page.Document{
		Title: "Assay soak: " + string(r.Verdict) + ", " + line(r.Target.URL), Charts: charts,
		Body: v.banner() + page.Layout(v.eventSection(), v.findingSection(), v.seriesSection(charts), v.windowSection(), v.totalSection()) +
			page.Footer(page.Text(line(r.Tool.Name+" "+r.Tool.Version))),
	})
}

// htmlSoak draws one soak.
type htmlSoak struct{ r *bundle.SoakReport }

func (v htmlSoak) banner() page.HTML {
	r := v.r
	b := LoadEnding(&bundle.LoadReport{Verdict: r.Verdict, Reasons: r.Reasons})
	if r.Verdict == bundle.LoadPass {
		b.Sentence = "Nothing leaks, drifts or is lost."
	}
	b.Kicker = "Assay soak report"
	if len(r.Reasons) > 0 {
		b.Reasons = reasonList(r.Reasons[1:])
	}
	if r.Interrupted {
		b.Alarm = "The soak ended early: this covers only its beginning. --resume continues it."
	}
	target := line(r.Target.URL)
	if r.Target.Embedded {
		target += " (embedded reference gateway)"
	}
	b.Facts = []page.Fact{
		{Name: "Target", Value: page.Text(target)},
		{Name: "Duration", Value: page.Textf("%s of %s, %s", soakTook(r.DurationMS), soakTook(r.Plan.DurationMS), plural(len(r.Windows), "window"))},
		{Name: "Load", Value: page.Textf("%g streams a second, %d held, seed %d", r.Plan.Rate, r.Plan.Held, r.Plan.Seed)},
		{Name: "Streams", Value: page.Text(grouped(r.Totals.Streams))},
	}
	if !r.Started.IsZero() {
		b.Facts = append(b.Facts, page.Fact{Name: "Started", Value: page.Text(started(r.Started))})
	}
	return page.Banner(b)
}

func (v htmlSoak) eventSection() page.Section {
	s := page.Section{ID: "events", Title: "What changed", Count: strconv.Itoa(len(v.r.Events))}
	var rows []page.Row
	for _, e := range v.r.Events[:min(len(v.r.Events), mostFindings)] {
		rows = append(rows, page.Row{Cells: []page.HTML{page.Text(soakClock(e.AtMS)), page.Text(line(e.Kind)), page.Text(cut(line(e.Message), mostShort))}})
	}
	if len(rows) > 0 {
		s.Body = page.Table("What changed", []page.Column{{Title: "At"}, {Title: "What"}, {Title: "Message"}}, rows) + page.More(len(v.r.Events)-len(rows), "event", elsewhere)
	}
	return s
}

func (v htmlSoak) findingSection() page.Section {
	s := page.Section{ID: "findings", Title: "Findings", Count: strconv.Itoa(len(v.r.Findings))}
	var rows []page.Row
	for _, f := range v.r.Findings[:min(len(v.r.Findings), mostFindings)] {
		badge := page.Badge(page.Warn, "?", "to know")
		if f.Decides {
			badge = page.Badge(page.Bad, "✗", "fails")
		}
		rows = append(rows, page.Row{Cells: []page.HTML{badge, page.Text(line(f.Kind)), page.Text(soakClock(f.SinceMS)), page.Text(cut(line(f.Message), mostShort))}})
	}
	if len(rows) > 0 {
		s.Body = page.Table("Findings", []page.Column{{Title: "Result"}, {Title: "Kind"}, {Title: "Since"}, {Title: "Message"}}, rows) + page.More(len(v.r.Findings)-len(rows), "finding", elsewhere)
	}
	return s
}

func (v htmlSoak) seriesSection(charts []page.Chart) page.Section {
	var rows []page.Row
	for _, s := range v.r.Series {
		badge := page.Badge(page.Good, "✓", s.Verdict)
		switch s.Verdict {
		case "leaks", "drifts":
			badge = page.Badge(page.Bad, "✗", s.Verdict)
		case "inconclusive":
			badge = page.Badge(page.Warn, "?", s.Verdict)
		}
		rows = append(rows, page.Row{Cells: []page.HTML{page.Text(cut(line(s.Name), 60)), badge, page.Text(strconv.Itoa(s.N)), page.Text(cut(line(s.Message), mostShort))}})
	}
	body := page.HTML("")
	if len(rows) > 0 {
		body = page.Table("Leaks and drifts", []page.Column{{Title: "Series"}, {Title: "Verdict"}, {Title: "Windows", Number: true}, {Title: "Message"}}, rows)
	}
	return page.Section{ID: "series", Title: "Leaks and drifts", Count: strconv.Itoa(len(v.r.Series)), Body: body + figures(charts)}
}

// charts draws each series over the soak, in minutes. The warm-up and the gaps are shaded.
func (v htmlSoak) charts() []page.Chart {
	const minute = 60_000.0
	var bands []page.Band
	if ms := v.r.Plan.WarmupMS; ms > 0 {
		bands = append(bands, page.Band{Name: "warm-up", To: float64(ms) / minute})
	}
	for _, g := range v.r.Gaps[:min(len(v.r.Gaps), mostLines)] {
		bands = append(bands, page.Band{Name: "gap", From: float64(g.FromMS) / minute, To: float64(g.ToMS) / minute})
	}
	var all []page.Chart
	for i, s := range v.r.Series {
		if i == mostLines {
			break
		}
		scale, unit, label := 1.0, page.UnitCount, line(s.Name)
		switch s.Unit {
		case "bytes":
			scale, label = 1<<20, label+", MiB"
		case "us":
			unit = page.UnitMicros
		}
		values := page.Series{Name: cut(line(s.Name), 40)}
		for _, p := range s.Points {
			values.Points = append(values.Points, page.Point{X: float64(p.AtMS) / minute, Y: p.Value / scale})
		}
		c := page.Chart{
			ID: "series-" + strconv.Itoa(i+1), Title: capital(cut(label, 60)), Summary: "One value for each window. " + cut(line(s.Message), mostShort), Bands: bands,
			X: page.Axis{Label: "minutes since the start", Unit: page.UnitCount, To: float64(v.r.DurationMS) / minute}, Y: page.Axis{Label: cut(label, 60), Unit: unit},
			Series: []page.Series{values},
		}
		all = append(all, c.Ready())
	}
	return drawable(all...)
}

func (v htmlSoak) windowSection() page.Section {
	s := page.Section{ID: "windows", Title: "Windows", Count: strconv.Itoa(len(v.r.Windows))}
	var rows []page.Row
	for _, w := range v.r.Windows[:min(len(v.r.Windows), mostNames)] {
		badge := page.Badge(page.Good, "✓", string(w.Verdict))
		switch w.Verdict {
		case bundle.LoadFail:
			badge = page.Badge(page.Bad, "✗", string(w.Verdict))
		case bundle.LoadInconclusive:
			badge = page.Badge(page.Warn, "?", string(w.Verdict))
		case bundle.LoadPass:
		}
		about := line(w.Message)
		if w.Warmup {
			about = strings.TrimSpace("warm-up " + about)
		}
		rows = append(rows, page.Row{Cells: []page.HTML{
			page.Text(strconv.Itoa(w.Index)), page.Text(soakClock(w.ToMS)), badge, page.Text(grouped(w.Streams.Completed)), page.Text(grouped(w.Streams.Outcomes.Failed())),
			page.Text(shortSpan(w.Latency.FirstEvent.P50)), page.Text(shortSpan(w.Latency.FirstEvent.P99)), page.Text(cut(about, mostShort)),
		}})
	}
	if len(rows) > 0 {
		s.Body = page.Table("Windows", []page.Column{
			{Title: "Window", Number: true}, {Title: "Until"}, {Title: "Verdict"}, {Title: "Streams", Number: true}, {Title: "Failed", Number: true},
			{Title: "First event p50", Number: true}, {Title: "p99", Number: true}, {Title: "Message"},
		}, rows) + page.More(len(v.r.Windows)-len(rows), "window", elsewhere)
	}
	return s
}

func (v htmlSoak) totalSection() page.Section {
	r := v.r
	facts := []page.Fact{
		{Name: "Outcomes", Value: page.Text(outcomesInWords(r.Totals.Outcomes))},
		{Name: "Ledger", Value: page.Text(ledgerText(&r.Totals.Ledger))},
		{Name: "Output", Value: page.Text(fmt.Sprintf("%s events, %s", grouped(r.Totals.Events), bytesText(r.Totals.Bytes)))},
	}
	for _, name := range sortedWork(r.Totals.Work) {
		facts = append(facts, page.Fact{Name: capital(line(name)), Value: page.Text(cut(workText(r.Totals.Work[name]), mostShort))})
	}
	if absent := absentClasses(r); absent != "" {
		facts = append(facts, page.Fact{Name: "Left out", Value: page.Text(absent)})
	}
	return page.Section{ID: "totals", Title: "In all", Body: page.Facts(facts)}
}
