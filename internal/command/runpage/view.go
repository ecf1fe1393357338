package runpage

import (
	_ "embed" // the script
	"math"

	"assay/reports/page"
)

//go:embed runpage.js
var script string

// document is the page with all that is known.
func document(face *Face, now *message) page.Document {
	running := page.Verdict{
		Kicker: face.Kicker, Tone: page.Info, Symbol: "…", Word: "Running", Sentence: now.Sentence,
		Below: page.El("p", page.At("id", "connection", "class", "note", "role", "status"), page.Text("This page needs scripts to follow the run; without them, load it again.")),
	}
	if v := now.Verdict; v != nil {
		running.Tone, running.Symbol, running.Word, running.Sentence = v.Tone, v.Symbol, v.Word, v.Sentence
	}
	for i, name := range face.Facts {
		fact := page.Fact{Name: name}
		if i < len(now.Facts) {
			fact.Value = page.Text(now.Facts[i])
		}
		running.Facts = append(running.Facts, fact)
	}
	charts := drawn(face, now)
	var figures page.HTML
	for _, c := range charts {
		figures += c.Figure()
	}
	var rows []page.Row
	for _, e := range now.Entries[max(0, len(now.Entries)-mostEntries):] {
		rows = append(rows, page.Row{Cells: []page.HTML{page.Text(e.Text), page.Badge(e.Tone, e.Symbol, e.Word)}})
	}
	list := page.El("div", page.At("id", "entries"), page.Table(face.List, []page.Column{{Title: "What"}, {Title: "Result"}}, rows))
	return page.Document{
		Title: face.Title, Charts: charts, Scripts: []string{script}, Connect: true,
		Body: page.Banner(running) + page.Layout(
			page.Section{ID: "timeline", Title: "Over time", Body: page.El("div", page.Class("charts"), figures)},
			page.Section{ID: "list", Title: face.List, Body: list, Note: "The newest ones."},
		),
	}
}

// drawn returns the charts with their points. One without any has a point at the origin.
func drawn(face *Face, now *message) []page.Chart {
	var out []page.Chart
	for _, c := range face.Charts {
		var series []page.Series
		for i, s := range c.Series {
			for _, m := range now.Moments[c.ID] {
				if i+1 < len(m) && !math.IsNaN(m[i+1]) {
					s.Points = append(s.Points, page.Point{X: m[0], Y: m[i+1]})
				}
			}
			if len(s.Points) == 0 {
				s.Points = []page.Point{{}}
			}
			series = append(series, s)
		}
		c.Series = series
		out = append(out, c)
	}
	return out
}
