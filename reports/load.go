package reports

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"assay/internal/bundle"
)

// Load draws a load report: streams, latencies, invariants, thresholds, and the verdict on
// the last line.
func Load(w io.Writer, r *bundle.LoadReport, s Style) error {
	t := loadText{newCanvas(w, s), r}
	t.note(fmt.Sprintf("%s · %s over HTTP %s · %s", r.Target.URL, r.Target.Protocol, r.Target.HTTP, loadModel(&r.Plan)))
	t.row()
	t.streams()
	t.row()
	t.latencies()
	t.row()
	t.books()
	t.driver()
	t.thresholds()
	t.row()
	t.verdict()
	return t.err
}

// LoadJSON writes exactly one JSON value, of schema assay.load/v1, and a newline.
func LoadJSON(w io.Writer, r *bundle.LoadReport) error { return writeJSON(w, r) }

// loadModel returns the model, and the seed if it decided something.
func loadModel(p *bundle.LoadPlan) string {
	text := p.Model + " model"
	if p.Drawn {
		text += fmt.Sprintf(" · seed %d", p.Seed)
	}
	return text
}

type loadText struct {
	*canvas
	r *bundle.LoadReport
}

// loadLabel is the width of the first column.
const loadLabel = 13

// put draws a label and text.
func (t loadText) put(label, text string) {
	t.block(painted{text: loadLead(label)}, line(text), plain)
}

// note draws text without a label.
func (t loadText) note(text string) { t.flow(painted{}, strings.Fields(line(text)), " ") }

func loadLead(label string) string { return pad(label, max(loadLabel, width(label)+1)) }

func (t loadText) streams() {
	s := &t.r.Streams
	text := fmt.Sprintf("%d wanted, %d opened, %d open at most, %d completed", s.Wanted, s.Opened, s.OpenPeak, s.Completed)
	if s.Disconnected > 0 {
		text += fmt.Sprintf(", %d hung up on", s.Disconnected)
	}
	t.put("streams", text)
	t.put("outcomes", outcomesInWords(s.Outcomes))
	for _, c := range t.r.Classes {
		t.put("  "+line(c.Name), c.Protocol+": "+outcomesInWords(c.Outcomes))
	}
	for _, e := range t.r.Examples {
		text := fmt.Sprintf("stream %d: %s", e.Stream, line(e.Message))
		if e.Times > 1 {
			text += fmt.Sprintf(" (%d times)", e.Times)
		}
		t.put("  "+e.Outcome, text)
	}
	check := map[string]string{
		"sequence": "every line checked", "none": "not checked", "same": "all alike wherever a command ended by itself",
	}[t.r.Plan.Check]
	if check == "" {
		check = "its digest checked wherever a command ended by itself"
	}
	t.put("output", fmt.Sprintf("%d events, %d bytes, %s", t.r.Output.Events, t.r.Output.Bytes, check))
}

// outcomesInWords lists the outcomes that occurred.
func outcomesInWords(all bundle.StreamOutcomes) string {
	var parts []string
	for o, n := range all.All() {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%v %d", o, n))
		}
	}
	return orNone(strings.Join(parts, " · "))
}

func (t loadText) latencies() {
	t.latency("latency", "count", "p50", "p90", "p99", "p99.9", "max")
	l := &t.r.Latency
	t.metric("first event", &l.FirstEvent, true, func(c *bundle.LoadClassLatencies) *bundle.Latency { return &c.FirstEvent })
	t.metric("gap", &l.Gap, true, func(c *bundle.LoadClassLatencies) *bundle.Latency { return &c.Gap })
	t.metric("end of stream", &l.EndOfStream, true, func(c *bundle.LoadClassLatencies) *bundle.Latency { return &c.EndOfStream })
	t.metric("start lag", &l.StartLag, true, nil)
	t.metric("driver lag", &l.DriverLag, false, nil)
	t.metric("gap corrected", &l.GapCorrected, false, func(c *bundle.LoadClassLatencies) *bundle.Latency { return &c.GapCorrected })
	t.metric("from sent", &l.FromSent, false, func(c *bundle.LoadClassLatencies) *bundle.Latency { return &c.FromSent })
	if ms := t.r.Plan.WarmupMS; ms > 0 {
		t.note(fmt.Sprintf("the first %v are not in it", time.Duration(ms)*time.Millisecond))
	}
	for _, note := range []struct {
		n    int64
		text string
	}{
		{t.r.Output.Coalesced, "%d events were read together with a later one: no gap was measured"},
		{t.r.Driver.UnstampedReads, "%d reads had no time of arrival from the kernel: theirs is the driver's"},
		{t.r.Output.Clamped, "%d values were out of range, and count as the nearest in it"},
	} {
		if note.n > 0 {
			t.note(fmt.Sprintf(note.text, note.n))
		}
	}
}

// metric draws a distribution, and those of the classes. Without always it is left out if
// it is empty: not every engine or command has it.
func (t loadText) metric(name string, l *bundle.Latency, always bool, of func(*bundle.LoadClassLatencies) *bundle.Latency) {
	switch {
	case l.Count == 0 && always:
		t.latency(name, "0", "-", "-", "-", "-", "-")
		return
	case l.Count == 0:
		return
	}
	t.distribution(name, l)
	for i := range t.r.Classes {
		if of == nil {
			break
		}
		if c := of(&t.r.Classes[i].Latency); c.Count > 0 {
			t.distribution("  "+cut(line(t.r.Classes[i].Name), loadLabel-3), c)
		}
	}
}

func (t loadText) distribution(name string, l *bundle.Latency) {
	t.latency(name, strconv.FormatInt(l.Count, 10), shortSpan(l.P50), shortSpan(l.P90), shortSpan(l.P99), shortSpan(l.P999), shortSpan(l.Max))
}

// latency draws one row of the table.
func (t loadText) latency(name, count string, values ...string) {
	cells := []string{pad(name, loadLabel), strings.Repeat(" ", max(0, 9-width(count))), count}
	for _, v := range values {
		cells = append(cells, strings.Repeat(" ", max(0, 7-width(v))), v)
	}
	t.row(cells...)
}

// shortSpan returns microseconds in at most six columns.
func shortSpan(us int64) string {
	switch {
	case us < 1000:
		return fmt.Sprintf("%dµs", us)
	case us < 100_000:
		return fmt.Sprintf("%.1fms", float64(us)/1e3)
	case us < 1_000_000:
		return fmt.Sprintf("%dms", us/1000)
	case us < 100_000_000:
		return fmt.Sprintf("%.2fs", float64(us)/1e6)
	}
	return fmt.Sprintf("%ds", us/1_000_000)
}

func (t loadText) books() {
	l := &t.r.Ledger
	text := fmt.Sprintf("%d started = %d ok + %d error + %d killed + %d open", l.Started, l.OK, l.Error, l.Killed, l.Open)
	if l.Unseen > 0 {
		text += fmt.Sprintf(" + %d that ended unseen", l.Unseen)
	}
	if l.Uncertain > 0 {
		text += fmt.Sprintf("; %d unknown", l.Uncertain)
	}
	t.put("ledger", text)
	m := &t.r.Metrics
	switch {
	case m.Scraped == 0:
		t.put("counters", m.Note)
	case len(m.Violations) == 0:
		t.put("counters", fmt.Sprintf("%d scrapes, before, during and after: they agree with the ledger", m.Scraped))
	default:
		text := fmt.Sprintf("%d scrapes, %s", m.Scraped, plural(len(m.Violations), "violation"))
		if m.Note != "" {
			text += "; " + m.Note
		}
		t.put("counters", text)
		for _, v := range m.Violations {
			t.block(painted{text: "  "}, line(v), plain)
		}
	}
}

func (t loadText) driver() {
	d := &t.r.Driver
	text := fmt.Sprintf("%s engine, %.1f s of processor time, %.0f MB of memory at most", d.Engine, d.CPUSeconds, float64(d.RSSPeakBytes)/1e6)
	if d.Processes > 1 {
		text += fmt.Sprintf(", %d worker processes included", d.Processes)
	}
	if t.r.Target.Embedded {
		text += ", the embedded gateway included"
	}
	t.put("driver", text)
	for _, ms := range d.ClockStepsMS {
		t.note(fmt.Sprintf("the clock of this machine was set by %+.1f ms during the run: times in files jump, latencies do not", ms))
	}
}

func (t loadText) thresholds() {
	if len(t.r.Thresholds) == 0 {
		return
	}
	t.row()
	for _, th := range t.r.Thresholds {
		word, color, detail := "undecided", yellow, th.Why
		switch {
		case th.OK != nil && *th.OK:
			word, color, detail = "met", green, th.Observed
		case th.OK != nil:
			word, color, detail = "missed", red, th.Observed
		}
		t.block(painted{loadLead(word), color}, line(th.Expr+"  ("+detail+")"), plain)
	}
}

func (t loadText) verdict() {
	color := map[bundle.LoadVerdict]tint{bundle.LoadPass: green, bundle.LoadFail: red, bundle.LoadInconclusive: yellow}[t.r.Verdict]
	took := time.Duration(t.r.DurationMS) * time.Millisecond
	if took >= time.Second {
		took = took.Round(100 * time.Millisecond)
	}
	text := strings.ToUpper(string(t.r.Verdict)) + " in " + took.String()
	if len(t.r.Reasons) > 0 {
		text += ": " + line(strings.Join(t.r.Reasons, "; "))
	}
	t.block(painted{}, text, color)
}
