package reports

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/record/bundle"
	"assay/reports/page"
)

// soakDocument tells of a soak: what changed when, what is wrong, every series with its curve, and the windows.
func soakDocument(r *bundle.SoakReport) *document {
	d := &document{
		kind: "Assay soak report", heading: "Soak: ", about: r.Target.URL, facts: soakFacts(r), early: true, footer: r.Tool.Name + " " + r.Tool.Version,
		verdict: verdict{
			look: loadLook(r.Verdict), word: strings.ToUpper(string(r.Verdict)), reasons: r.Reasons,
			sentence: fmt.Sprintf("after %s in %s", soakTook(r.DurationMS), plural(len(r.Windows), "window")),
		},
	}
	if r.Interrupted {
		d.alarm = "The soak ended early: this covers only its beginning. --resume continues it."
	}
	if !r.Started.IsZero() {
		d.details = facts{{"started", say(started(r.Started))}}
	}
	d.sections = []section{soakEvents(r), soakFindings(r), soakSeries(r), soakWindows(r), soakTotals(r)}
	return d
}

// soakFacts are the target and the plan.
func soakFacts(r *bundle.SoakReport) facts {
	return facts{
		{"target", say(loadTarget(r.Target))},
		{"duration", sayf("%s of %s planned in windows of %s", soakTook(r.DurationMS), soakTook(r.Plan.DurationMS), soakTook(r.Plan.WindowMS))},
		{"load", sayf("%s a second, %d held", plural(int(r.Plan.Rate), "stream"), r.Plan.Held)},
		{"seed", sayf("seed %d", r.Plan.Seed)},
	}
}

// soakHeadline returns the target and the plan on one line.
func soakHeadline(r *bundle.SoakReport) string {
	var parts []string
	for _, f := range soakFacts(r) {
		parts = append(parts, flat(f.value))
	}
	return strings.Join(parts, orderSep)
}

// soakTook returns a time with its hours and minutes: 8h0m0s.
func soakTook(ms int64) string {
	return (time.Duration(ms) * time.Millisecond).Round(time.Second).String()
}

// soakClock returns a time since the start: 7:30:00.
func soakClock(ms int64) string {
	s := (ms + 500) / 1000
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

func soakEvents(r *bundle.SoakReport) section {
	t := table{title: "What changed", columns: columns("At", "What", "Message"), noun: "event"}
	for _, e := range r.Events {
		t.rows = append(t.rows, rowOf(soakClock(e.AtMS), e.Kind, e.Message))
	}
	return section{id: "events", title: t.title, count: len(t.rows), body: blockOf(len(t.rows), t)}
}

func soakFindings(r *bundle.SoakReport) section {
	t := table{title: "Findings", columns: columns("Result", "Since", "Message"), noun: "finding"}
	for _, f := range r.Findings {
		result := badged(warning, "to know")
		if f.Decides {
			result = badged(failure, "fails")
		}
		t.rows = append(t.rows, rowOf(result, soakClock(f.SinceMS), f.Message))
	}
	return section{id: "findings", title: t.title, count: len(t.rows), body: blockOf(len(t.rows), t)}
}

func soakSeries(r *bundle.SoakReport) section {
	t := table{title: "Leaks and drifts", columns: columns("Verdict", "#Windows", "Series", "Message"), noun: "series"}
	for _, s := range r.Series {
		l := map[string]look{"steady": success, "leaks": failure, "drifts": failure}[s.Verdict]
		if l == (look{}) {
			l = warning
		}
		t.rows = append(t.rows, rowOf(badged(l, s.Verdict), s.N, s.Name, s.Message))
	}
	return section{id: "series", title: t.title, count: len(t.rows), body: append(blockOf(len(t.rows), t), figures(soakCharts(r)))}
}

// soakCharts draws each series over the soak, in minutes. The warm-up and the gaps are shaded.
func soakCharts(r *bundle.SoakReport) []page.Chart {
	const minute = 60_000.0
	var bands []page.Band
	if ms := r.Plan.WarmupMS; ms > 0 {
		bands = append(bands, page.Band{Name: "warm-up", To: float64(ms) / minute})
	}
	for _, g := range r.Gaps[:min(len(r.Gaps), mostLines)] {
		bands = append(bands, page.Band{Name: "gap", From: float64(g.FromMS) / minute, To: float64(g.ToMS) / minute})
	}
	var all []page.Chart
	for i, s := range r.Series {
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
			X: page.Axis{Label: "minutes since the start", Unit: page.UnitCount, To: float64(r.DurationMS) / minute}, Y: page.Axis{Label: cut(label, 60), Unit: unit},
			Series: []page.Series{values},
		}
		all = append(all, c.Ready())
	}
	return drawable(all...)
}

// soakWindows lists the windows: of many, those that are not pass, and the first and the last ones.
func soakWindows(r *bundle.SoakReport) section {
	t := table{title: "Windows", columns: columns("#", "Until", "Verdict", "#Streams", "#Failed", "#First p50", "#p99", "Message"), noun: "window"}
	for i, w := range r.Windows {
		if n := len(r.Windows); n > mostRows && w.Verdict == bundle.LoadPass && i >= mostRows/4 && i < n-mostRows/4 {
			continue
		}
		word := string(w.Verdict)
		if w.Warmup {
			word = strings.TrimPrefix(word+", warm-up", "pass, ")
		}
		if w.Partial {
			word += ", cut"
		}
		t.rows = append(t.rows, rowOf(w.Index, soakClock(w.ToMS), badged(loadLook(w.Verdict), word), w.Streams.Completed, w.Streams.Outcomes.Failed(),
			shortSpan(w.Latency.FirstEvent.P50), shortSpan(w.Latency.FirstEvent.P99), w.Message))
	}
	body := blockOf(len(t.rows), t)
	if left := len(r.Windows) - len(t.rows); left > 0 {
		body = append(body, sayf("%s that passed left out; --format json has all", plural(left, "window")))
	}
	return section{id: "windows", title: t.title, count: len(r.Windows), body: body}
}

func soakTotals(r *bundle.SoakReport) section {
	all := facts{{"streams", say(r.Totals.Streams, ", ", outcomesInWords(r.Totals.Outcomes))}}
	for _, name := range slices.Sorted(maps.Keys(r.Totals.Work)) {
		w := r.Totals.Work[name]
		text := fmt.Sprintf("%d done", w.Done)
		if w.Failed > 0 {
			text += fmt.Sprintf(", %d failed: %s", w.Failed, line(w.Example))
		}
		all = append(all, fact{name, say(text)})
	}
	all = append(all, fact{"ledger", say(ledgerText(&r.Totals.Ledger))},
		fact{"output", say(r.Totals.Events, " events, ", bytesText(r.Totals.Bytes), ", every line checked")})
	var absent []string // kinds of work
	for _, c := range r.Plan.Classes {
		if c.Absent {
			absent = append(absent, c.Name)
		}
	}
	if len(absent) > 0 {
		all = append(all, fact{"left out", say(strings.Join(absent, ", ") + ": the target has no such feature")})
	}
	all = append(all, fact{"driver", say(engineText(&r.Driver))})
	return section{id: "totals", title: "In all", body: []block{all}}
}
