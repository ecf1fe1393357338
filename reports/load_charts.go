package reports

import (
	"strings"

	"assay/internal/record/bundle"
	"assay/reports/page"
)

// farthest is the place of the maximum on a percentile curve, in units of 1/(1-q): it
// would be at infinity.
const farthest = 1e6

// curveCharts draws the distributions of a run against the percentile, on a scale on
// which each 9 takes as much room as the one before.
func curveCharts(r *bundle.LoadReport) []page.Chart {
	var all, classes []page.Series
	for _, c := range r.Curves {
		metric, class, _ := strings.Cut(c.Metric, "/")
		s := page.Series{Name: cut(line(strings.ReplaceAll(metric, "_", " ")), 40)}
		if class != "" {
			s.Name += ", " + cut(line(class), 40)
		}
		for _, p := range c.Points {
			x := farthest
			if p.Quantile < 1 {
				x = min(farthest, 1/(1-p.Quantile))
			}
			s.Points = append(s.Points, page.Point{X: x, Y: float64(p.Value)})
		}
		if class == "" {
			all = append(all, s)
		} else {
			classes = append(classes, s)
		}
	}
	chart := func(id, title string, series []page.Series) page.Chart {
		c := page.Chart{
			ID: id, Title: title, Summary: "Latency at each percentile.", Series: endAtNines(series[:min(len(series), mostLines)]),
			X: page.Axis{Label: "percentile", Unit: page.UnitQuantile, Log: true, Ticks: nines()}, Y: page.Axis{Label: "latency", Unit: page.UnitMicros, Log: true},
		}
		return c.Ready()
	}
	return drawable(chart("curve", "Latency by percentile", all), chart("curve-class", "Latency by percentile and class", classes))
}

// mostLines limits the lines of a chart.
const mostLines = 12

// nines are the labelled places of a percentile axis.
func nines() []page.Tick {
	return []page.Tick{{At: 1, Label: "0"}, {At: 2, Label: "50"}, {At: 10, Label: "90"}, {At: 100, Label: "99"}, {At: 1000, Label: "99.9"}, {At: 1e4, Label: "99.99"}, {At: 1e5, Label: "99.999"}}
}

// endAtNines moves the maximum of each line next to the last percentile of any of them.
func endAtNines(all []page.Series) []page.Series {
	last := 1.0
	for _, s := range all {
		for _, p := range s.Points {
			if p.X < farthest {
				last = max(last, p.X)
			}
		}
	}
	for _, s := range all {
		for i, p := range s.Points {
			if p.X >= farthest {
				s.Points[i].X = last * 2
			}
		}
	}
	return all
}

// drawable returns the charts that have points.
func drawable(charts ...page.Chart) []page.Chart {
	var out []page.Chart
	for _, c := range charts {
		if len(c.Series) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// timelineCharts draws the run over time: streams begun and open, latencies, failures,
// and the delay of the driver itself.
func timelineCharts(r *bundle.LoadReport) []page.Chart {
	moments := r.Timeline
	if len(moments) == 0 {
		return nil
	}
	scale, label := 1000.0, "seconds since the first stream was due"
	if moments[len(moments)-1].ToMS > longRun {
		scale, label = 60_000, "minutes since the first stream was due"
	}
	chart := func(id, title, summary string, unit page.Unit, logarithmic bool, lines ...timeLine) page.Chart {
		c := page.Chart{
			ID: id, Title: title, Summary: summary, Bands: warmups(moments, scale),
			X: page.Axis{Label: label, Unit: page.UnitCount, To: float64(moments[len(moments)-1].ToMS) / scale}, Y: page.Axis{Label: title, Unit: unit, Log: logarithmic},
		}
		for _, l := range lines {
			c.Series = append(c.Series, page.Series{Name: l.name, Points: pointsOf(moments, scale, l.of)})
		}
		return c.Ready()
	}
	charts := []page.Chart{
		chart("rate", "Streams a second", "Streams that were due and that began.", page.UnitCount, false,
			timeLine{"due", perSecond(func(m *bundle.LoadMoment) int64 { return m.Due })}, timeLine{"begun", perSecond(func(m *bundle.LoadMoment) int64 { return m.Begun })}),
		chart("open", "Open streams", "Streams that were open at the end of each interval.", page.UnitCount, false,
			timeLine{"open", func(m *bundle.LoadMoment) (float64, bool) { return float64(m.Open), true }}),
		chart("first-event", "Time to the first event", "Percentiles of each interval.", page.UnitMicros, true, latencyLines(func(m *bundle.LoadMoment) *bundle.Latency { return &m.FirstEvent })...),
		chart("gap", "Gap between events", "Percentiles of each interval.", page.UnitMicros, true, latencyLines(func(m *bundle.LoadMoment) *bundle.Latency { return &m.Gap })...),
	}
	if r.Streams.Outcomes.Failed() > 0 {
		charts = append(charts, chart("failed", "Failed streams", "Streams of each interval that failed.", page.UnitCount, false,
			timeLine{"failed", func(m *bundle.LoadMoment) (float64, bool) { return float64(m.Outcomes.Failed()), true }}))
	}
	charts = append(charts, chart("driver-lag", "Delay of the driver", "Delays of the driver itself; large ones make the other figures doubtful.", page.UnitMicros, true,
		latencyLines(func(m *bundle.LoadMoment) *bundle.Latency { return &m.DriverLag })...))
	return drawable(charts...)
}

// longRun is the length of a run from which on its times are in minutes.
const longRun = 15 * 60_000

// timeLine is a line over time; a moment may have no value.
type timeLine struct {
	name string
	of   func(m *bundle.LoadMoment) (value float64, ok bool)
}

// perSecond returns a count of an interval as a rate.
func perSecond(count func(m *bundle.LoadMoment) int64) func(m *bundle.LoadMoment) (float64, bool) {
	return func(m *bundle.LoadMoment) (float64, bool) {
		ms := m.ToMS - m.FromMS
		if ms <= 0 {
			return 0, false
		}
		return float64(count(m)) * 1000 / float64(ms), true
	}
}

// latencyLines are the median, the 99th percentile and the maximum of each interval.
func latencyLines(of func(m *bundle.LoadMoment) *bundle.Latency) []timeLine {
	line := func(name string, value func(l *bundle.Latency) int64) timeLine {
		return timeLine{name, func(m *bundle.LoadMoment) (float64, bool) { l := of(m); return float64(value(l)), l.Count > 0 }}
	}
	return []timeLine{
		line("p50", func(l *bundle.Latency) int64 { return l.P50 }), line("p99", func(l *bundle.Latency) int64 { return l.P99 }),
		line("max", func(l *bundle.Latency) int64 { return l.Max }),
	}
}

// pointsOf returns the values at the end of each interval; scale is one unit of time in
// milliseconds.
func pointsOf(moments []bundle.LoadMoment, scale float64, of func(m *bundle.LoadMoment) (float64, bool)) []page.Point {
	var points []page.Point
	for i := range moments {
		if y, ok := of(&moments[i]); ok {
			points = append(points, page.Point{X: float64(moments[i].ToMS) / scale, Y: y})
		}
	}
	return points
}

// warmups returns the interval of the warm-up, which the distributions of the run leave out.
func warmups(moments []bundle.LoadMoment, scale float64) []page.Band {
	end := int64(-1)
	for _, m := range moments {
		if m.Warmup {
			end = max(end, m.ToMS)
		}
	}
	if end < 0 {
		return nil
	}
	return []page.Band{{Name: "warm-up", From: 0, To: float64(end) / scale}}
}
