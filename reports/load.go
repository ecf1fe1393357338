package reports

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"assay/internal/bundle"
)

// loadTerminal draws a load report: streams, latencies, counters, thresholds, and the verdict on
// the last line.
func loadTerminal(w io.Writer, r *bundle.LoadReport, s Style) error {
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
	if s := t.r.Sandboxes; s != nil {
		t.put("sandboxes", sandboxesText(s))
		for _, text := range s.Messages {
			t.block(painted{text: "  "}, line(text), plain)
		}
	}
	t.put("streams", streamsText(&t.r.Streams))
	t.put("outcomes", outcomesInWords(t.r.Streams.Outcomes))
	for _, c := range t.r.Classes {
		t.put("  "+line(c.Name), c.Protocol+": "+outcomesInWords(c.Outcomes))
	}
	for _, e := range t.r.Examples {
		t.put("  "+e.Outcome, exampleText(e))
	}
	if text := workersText(t.r); text != "" {
		t.put("workers", text)
	}
	for _, text := range workerLines(t.r) {
		t.block(painted{text: "  "}, line(text), plain)
	}
	t.put("output", outputText(t.r))
	if text := ratesText(t.r); text != "" {
		t.put("per second", text)
	}
}

// sandboxesText returns the numbers of sandboxes and the rate of their creation.
func sandboxesText(s *bundle.LoadSandboxes) string {
	text := fmt.Sprintf("%d wanted, %d created (%.1f/s)", s.Wanted, s.Created, s.PerSecond)
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Failed)
	}
	text += fmt.Sprintf(", %d deleted", s.Deleted)
	if n := len(s.Left); n > 0 {
		text += fmt.Sprintf(", %d left", n)
	}
	return text
}

func streamsText(s *bundle.LoadStreams) string {
	text := fmt.Sprintf("%d wanted, %d opened, %d open at most, %d completed", s.Wanted, s.Opened, s.OpenPeak, s.Completed)
	if s.Disconnected > 0 {
		text += fmt.Sprintf(", %d disconnected", s.Disconnected)
	}
	if s.BackedOff > 0 {
		text += fmt.Sprintf(", backed off %s after failures", plural(int(s.BackedOff), "time"))
	}
	return text
}

// ratesText returns the averages per second; "" for a report that has none.
func ratesText(r *bundle.LoadReport) string {
	if r.Rates == (bundle.LoadRates{}) {
		return ""
	}
	return fmt.Sprintf("%s streams begun, %s completed, %s events", rateText(r.Rates.Begun), rateText(r.Rates.Completed), rateText(r.Rates.Events))
}

// rateText formats a rate: with one decimal, below 10 with two.
func rateText(v float64) string {
	if v < 10 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// outputText returns the amount of output and how it was checked.
func outputText(r *bundle.LoadReport) string {
	check := map[string]string{
		"sequence": "every line checked", "none": "not checked", "same": "compared for all commands that ended by themselves",
	}[r.Plan.Check]
	if check == "" {
		check = "digest checked for all commands that ended by themselves"
	}
	return fmt.Sprintf("%d events, %d bytes, %s", r.Output.Events, r.Output.Bytes, check)
}

func exampleText(e bundle.LoadExample) string {
	text := fmt.Sprintf("stream %d: %s", e.Stream, line(e.Message))
	if e.Times > 1 {
		text += fmt.Sprintf(" (%d times)", e.Times)
	}
	return text
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
	t.latency("latency", "count", loadQuantiles...)
	for _, m := range loadMetrics(t.r) {
		if m.total.Count == 0 {
			t.latency(m.name, "0", "-", "-", "-", "-", "-")
			continue
		}
		t.distribution(m.name, m.total)
		for _, c := range m.classes {
			t.distribution("  "+cut(line(c.name), loadLabel-3), c.of)
		}
	}
	for _, text := range latencyNotes(t.r) {
		t.note(text)
	}
}

// loadQuantiles are the columns of the table of latencies.
var loadQuantiles = []string{"p50", "p90", "p99", "p99.9", "max"}

// loadMetric is a distribution of the run, and those of its classes that have values.
type loadMetric struct {
	name    string
	total   *bundle.Latency
	classes []loadClassMetric
}

type loadClassMetric struct {
	name string
	of   *bundle.Latency
}

// loadMetrics returns the distributions of a report. Those that not every engine or
// command has are left out if they are empty.
func loadMetrics(r *bundle.LoadReport) []loadMetric {
	var all []loadMetric
	add := func(name string, l *bundle.Latency, always bool, of func(*bundle.LoadClassLatencies) *bundle.Latency) {
		if l.Count == 0 && !always {
			return
		}
		m := loadMetric{name: name, total: l}
		for i := range r.Classes {
			if of == nil || l.Count == 0 {
				break
			}
			if c := of(&r.Classes[i].Latency); c.Count > 0 {
				m.classes = append(m.classes, loadClassMetric{r.Classes[i].Name, c})
			}
		}
		all = append(all, m)
	}
	if s := r.Sandboxes; s != nil {
		add("box created", &s.Create, true, nil)
		add("box ready", &s.Ready, true, nil)
	}
	l := &r.Latency
	add("first event", &l.FirstEvent, true, func(c *bundle.LoadClassLatencies) *bundle.Latency { return &c.FirstEvent })
	add("gap", &l.Gap, true, func(c *bundle.LoadClassLatencies) *bundle.Latency { return &c.Gap })
	add("end of stream", &l.EndOfStream, true, func(c *bundle.LoadClassLatencies) *bundle.Latency { return &c.EndOfStream })
	add("start lag", &l.StartLag, true, nil)
	add("driver lag", &l.DriverLag, false, nil)
	add("gap corrected", &l.GapCorrected, false, func(c *bundle.LoadClassLatencies) *bundle.Latency { return &c.GapCorrected })
	add("from sent", &l.FromSent, false, func(c *bundle.LoadClassLatencies) *bundle.Latency { return &c.FromSent })
	add("connect", &l.Connect, false, nil)
	add("TLS", &l.TLSFull, false, nil)
	add("TLS resumed", &l.TLSResumed, false, nil)
	return all
}

// latencyNotes says which values the distributions do not have, or not exactly.
func latencyNotes(r *bundle.LoadReport) []string {
	var out []string
	if r.Plan.Note != "" {
		out = append(out, line(r.Plan.Note))
	}
	if ms := r.Plan.WarmupMS; ms > 0 {
		out = append(out, fmt.Sprintf("the latencies exclude the first %v", time.Duration(ms)*time.Millisecond))
	}
	for _, note := range []struct {
		n    int64
		text string
	}{
		{r.Output.Coalesced, "%d events were read together with a later one: no gap was measured"},
		{r.Driver.UnstampedReads, "%d reads had no time of arrival from the kernel: the driver's clock was used"},
		{r.Output.Clamped, "%d values were out of range, and count as the nearest value in range"},
	} {
		if note.n > 0 {
			out = append(out, fmt.Sprintf(note.text, note.n))
		}
	}
	return out
}

func (t loadText) distribution(name string, l *bundle.Latency) {
	t.latency(name, strconv.FormatInt(l.Count, 10), shortSpan(l.P50), shortSpan(l.P90), shortSpan(l.P99), shortSpan(l.P999), shortSpan(l.Max))
}

// latency draws one row of the table.
func (t loadText) latency(name, count string, values ...string) {
	cells := []ink{t.text(pad(name, loadLabel)), t.text(fmt.Sprintf("%9s", count))}
	for _, v := range values {
		cells = append(cells, t.text(fmt.Sprintf("%7s", v)))
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
	t.put("ledger", ledgerText(&t.r.Ledger))
	t.put("counters", countersText(&t.r.Metrics))
	for _, v := range t.r.Metrics.Violations {
		t.block(painted{text: "  "}, line(v), plain)
	}
}

// ledgerText returns the equation of the driver's ledger.
func ledgerText(l *bundle.LoadLedger) string {
	text := fmt.Sprintf("%d started = %d ok + %d error + %d killed + %d open", l.Started, l.OK, l.Error, l.Killed, l.Open)
	if l.Unseen > 0 {
		text += fmt.Sprintf(" + %d that ended unseen", l.Unseen)
	}
	if l.Uncertain > 0 {
		text += fmt.Sprintf("; %d unknown", l.Uncertain)
	}
	return text
}

// countersText returns the result of comparing the gateway's counters with the ledger.
func countersText(m *bundle.LoadMetrics) string {
	missed := ""
	if m.Missed > 0 {
		missed = fmt.Sprintf(" (%d had no answer in time)", m.Missed)
	}
	switch {
	case uncompared(m) != "":
		return strings.TrimPrefix(m.Note, "counters ")
	case len(m.Violations) == 0:
		return fmt.Sprintf("%d scrapes%s, before, during and after: they agree with the ledger", m.Scraped+m.Missed, missed)
	}
	text := fmt.Sprintf("%d scrapes%s, %s", m.Scraped+m.Missed, missed, plural(len(m.Violations), "violation"))
	if m.Note != "" {
		text += "; " + m.Note
	}
	return text
}

// uncompared returns why the counters were not compared, "" if they were. A verdict that
// does not rest on them says so.
func uncompared(m *bundle.LoadMetrics) string {
	switch {
	case m.After != nil || len(m.Violations) > 0:
		return ""
	case m.Scraped == 0 && m.Note == "":
		return "counters not compared"
	}
	return m.Note
}

func (t loadText) driver() {
	t.put("driver", driverText(t.r))
	for _, text := range clockNotes(t.r) {
		t.note(text)
	}
}

// clockNotes says that the clock of the driver's machine jumped.
func clockNotes(r *bundle.LoadReport) (out []string) {
	for _, ms := range r.Driver.ClockStepsMS {
		out = append(out, fmt.Sprintf("the clock of this machine was set by %+.1f ms during the run: times in files jump, latencies do not", ms))
	}
	return out
}

// engineText returns the engine, its event loops and its cost.
func engineText(d *bundle.LoadDriver) string {
	loops := ""
	if d.Loops > 1 {
		loops = fmt.Sprintf(" with %d loops", d.Loops)
	}
	return fmt.Sprintf("%s engine%s, %.1f s of processor time, %.0f MB of memory at most", d.Engine, loops, d.CPUSeconds, float64(d.RSSPeakBytes)/1e6)
}

// driverText returns the engine and its cost.
func driverText(r *bundle.LoadReport) string {
	d := &r.Driver
	text := engineText(d)
	if d.Processes > 1 {
		text += fmt.Sprintf(", %d worker processes included", d.Processes)
	}
	if r.Target.Embedded {
		text += ", the embedded gateway included"
	}
	return text
}

func (t loadText) thresholds() {
	if len(t.r.Thresholds) == 0 {
		return
	}
	t.row()
	for _, th := range t.r.Thresholds {
		word, detail := thresholdText(th)
		color := map[string]tint{"met": green, "missed": red, "undecided": yellow}[word]
		t.block(painted{loadLead(word), color}, line(th.Expr+"  ("+detail+")"), plain)
	}
}

// thresholdText returns the result of a threshold and the figures behind it.
func thresholdText(th bundle.LoadThreshold) (word, detail string) {
	switch {
	case th.OK == nil:
		return "undecided", th.Why
	case *th.OK:
		return "met", th.Observed
	}
	return "missed", th.Observed
}

func (t loadText) verdict() {
	color := map[bundle.LoadVerdict]tint{bundle.LoadPass: green, bundle.LoadFail: red, bundle.LoadInconclusive: yellow}[t.r.Verdict]
	t.block(painted{}, loadVerdictText(t.r), color)
}

// loadVerdictText returns the verdict, the duration, whether the counters were compared,
// and the reasons, on one line.
func loadVerdictText(r *bundle.LoadReport) string {
	took := time.Duration(r.DurationMS) * time.Millisecond
	if took >= time.Second {
		took = took.Round(100 * time.Millisecond)
	}
	text := strings.ToUpper(string(r.Verdict)) + " in " + took.String()
	if why := uncompared(&r.Metrics); why != "" {
		text += " (" + line(why) + ")"
	}
	if len(r.Reasons) > 0 {
		text += ": " + line(strings.Join(r.Reasons, "; "))
	}
	return text
}
