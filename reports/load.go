package reports

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"assay/internal/record/bundle"
)

// loadDocument tells of a load run: the thresholds, the latencies as curves and over time, the streams, the counters,
// and what the driver itself took.
func loadDocument(r *bundle.LoadReport) *document {
	took := time.Duration(r.DurationMS) * time.Millisecond
	if took >= time.Second {
		took = took.Round(100 * time.Millisecond)
	}
	d := &document{
		kind: "Assay load report", heading: "Load: ", about: r.Target.URL, footer: r.Tool.Name + " " + r.Tool.Version,
		verdict: verdict{look: loadLook(r.Verdict), word: strings.ToUpper(string(r.Verdict)), sentence: "in " + took.String(), reasons: r.Reasons},
		facts: facts{
			{"target", say(loadTarget(r.Target))}, {"protocol", say(r.Target.Protocol + " over HTTP " + r.Target.HTTP)}, {"codec", say(r.Target.Codec)}, {"load", say(planText(&r.Plan))},
		},
		sections: []section{loadThresholds(r), loadLatencies(r), {id: "timeline", title: "Over time", body: []block{figures(timelineCharts(r))}, in: inPage},
			loadOutcomes(r), loadSandboxes(r), loadCounters(r), loadDriver(r), loadOrigin(r)},
	}
	if why := uncompared(&r.Metrics); why != "" {
		d.verdict.sentence += " (" + line(why) + ")"
	}
	switch {
	case r.Interrupted:
		d.alarm = "The run was interrupted: this covers only its beginning."
	case r.Aborted != "":
		d.alarm = "The run ended early: " + line(r.Aborted)
	}
	if !r.Started.IsZero() {
		d.details = facts{{"started", say(started(r.Started))}}
	}
	return d
}

// loadTarget names a target.
func loadTarget(t bundle.LoadTarget) string {
	return targetText(bundle.Target{URL: t.URL, Embedded: t.Embedded})
}

// loadThresholds lists the thresholds, the missed ones first.
func loadThresholds(r *bundle.LoadReport) section {
	t := table{title: "Thresholds", columns: columns("Result", "Limit", "Observed"), noun: "threshold"}
	for _, one := range []struct {
		word string
		look look
	}{{"missed", failure}, {"undecided", warning}, {"met", success}} {
		for _, th := range r.Thresholds {
			if word, detail := thresholdText(th); word == one.word {
				t.rows = append(t.rows, rowOf(badged(one.look, word), source(th.Expr), detail))
			}
		}
	}
	return section{id: "thresholds", title: t.title, count: len(t.rows), body: blockOf(len(t.rows), t)}
}

// loadLatencies has the table of latencies and their curves.
func loadLatencies(r *bundle.LoadReport) section {
	t := table{title: "Latencies", columns: columns("Distribution", "#Values", "#p50", "#p90", "#p99", "#p99.9", "#max"), most: mostRuleRows, noun: "distribution"}
	put := func(name string, l *bundle.Latency) {
		out := rowOf(name, l.Count)
		for _, us := range []int64{l.P50, l.P90, l.P99, l.P999, l.Max} {
			value := faintly("-")
			if l.Count > 0 {
				value = part{text: shortSpan(us)}
			}
			out.cells = append(out.cells, say(value))
		}
		t.rows = append(t.rows, out)
	}
	for _, d := range loadMetrics(r) {
		put(d.name, d.total)
		for _, c := range d.classes[:min(len(d.classes), mostNames)] {
			put("· "+c.name, c.of)
		}
	}
	body := []block{t}
	for _, text := range latencyNotes(r) {
		body = append(body, say("note: "+text))
	}
	return section{id: "latency", title: "Latency", body: append(body, figures(curveCharts(r)))}
}

// loadOutcomes counts the streams by outcome and class, and has examples of failures.
func loadOutcomes(r *bundle.LoadReport) section {
	all := facts{{"streams", say(streamsText(&r.Streams))}, {"outcomes", say(outcomesInWords(r.Streams.Outcomes))}, {"output", say(outputText(r))}}
	if text := ratesText(r); text != "" {
		all = append(all, fact{"per second", say(text)})
	}
	for _, c := range r.Classes[:min(len(r.Classes), mostNames)] {
		all = append(all, fact{c.Name, append(sayf("%.0f %%, %s: %s", c.Share*100, strings.TrimSuffix(c.Protocol+", "+c.Codec, ", "), outcomesInWords(c.Outcomes)), below(c.Command))})
	}
	examples := table{title: "Examples", columns: columns("Outcome", "#Stream", "#Times", "Message"), noun: "example"}
	for _, e := range r.Examples {
		examples.rows = append(examples.rows, rowOf(badged(failure, strings.ReplaceAll(e.Outcome, "_", " ")), e.Stream, max(1, e.Times), quoted(e.Message)))
	}
	return section{id: "outcomes", title: "Streams", body: append([]block{all}, blockOf(len(examples.rows), examples)...)}
}

func loadSandboxes(r *bundle.LoadReport) section {
	b := r.Sandboxes
	if b == nil {
		return section{}
	}
	return section{id: "sandboxes", title: "Sandboxes", body: append([]block{
		facts{{"sandboxes", say(sandboxesText(b))}, {"control plane", say(b.ControlPlane)}, {"template", say(b.Template)}},
	}, blockOf(len(b.Messages), items{all: says(b.Messages)})...)}
}

// loadCounters compares the gateway's counters with the ledger of the driver.
func loadCounters(r *bundle.LoadReport) section {
	m, l := &r.Metrics, &r.Ledger
	compared := say(countersText(m))
	if len(m.Violations) > 0 {
		compared = say(badged(failure, "violated"), " ", compared)
	}
	body := []block{facts{{"counters", compared}, {"ledger", say(ledgerText(l))}}}
	body = append(body, blockOf(len(m.Violations), items{all: says(m.Violations)})...)
	if m.Before != nil && m.After != nil {
		t := table{title: "Ledger and counters", columns: columns("Processes", "#Ledger", "#Before", "#After", "#Difference"), noun: "count"}
		for _, c := range []struct {
			name          string
			ledger        int64
			before, after float64
		}{
			{"Started", l.Started, m.Before.Started, m.After.Started}, {"Ended with 0", l.OK, m.Before.OK, m.After.OK},
			{"Ended otherwise", l.Error, m.Before.Error, m.After.Error}, {"Killed", l.Killed, m.Before.Killed, m.After.Killed},
			{"Open", l.Open, m.Before.Active, m.After.Active},
		} {
			t.rows = append(t.rows, rowOf(c.name, c.ledger, figure(c.before), figure(c.after), figure(c.after-c.before)))
		}
		body = append(body, t)
	}
	return section{id: "counters", title: "Ledger and counters", body: body}
}

// figure returns a counter without needless digits.
func figure(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// loadDriver says what the driver took, so that a reader can trust the figures.
func loadDriver(r *bundle.LoadReport) section {
	all := facts{{"driver", say(driverText(r))}}
	if text := workersText(r); text != "" {
		all = append(all, fact{"workers", say(text)})
	}
	notes := append(workerLines(r), clockNotes(r)...)
	return section{id: "driver", title: "The driver's own cost", body: append([]block{all}, blockOf(len(notes), items{all: says(notes)})...)}
}

// loadOrigin says where the report comes from.
func loadOrigin(r *bundle.LoadReport) section {
	p := &r.Plan
	all := facts{
		{"tool", say(r.Tool.Name + " " + r.Tool.Version)}, {"target", say(r.Target.URL)}, {"profile", say(r.Target.Profile)}, {"command", say(source(p.Command))},
		{"check", say(p.Check)}, {"seed", sayf("%d", p.Seed)}, {"offered", sayf("%.1f %% of the planned load", r.Streams.Offered*100)},
	}
	for _, f := range []struct {
		name string
		ms   int64
	}{{"ramp", p.RampMS}, {"warm-up", p.WarmupMS}, {"planned duration", p.DurationMS}} {
		if f.ms > 0 {
			all = append(all, fact{f.name, say(took(f.ms))})
		}
	}
	t := table{title: "Stages of the plan", columns: columns("#Stage", "#Duration", "#Streams a second, from", "#to"), noun: "stage"}
	for i, s := range p.Stages {
		t.rows = append(t.rows, rowOf(i+1, took(s.DurationMS), fmt.Sprintf("%g", s.From), fmt.Sprintf("%g", s.To)))
	}
	return section{id: "origin", title: "Where this report comes from", body: append([]block{all}, blockOf(len(t.rows), t)...), in: inPage}
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
	return text + " (" + loadModel(p) + ")"
}

// grouped returns a number with thousands separators.
func grouped(n int64) string {
	return strings.TrimSuffix(strings.TrimSuffix(bytesText(n), "s"), " byte")
}

// loadModel returns the model, and the seed if it decided something.
func loadModel(p *bundle.LoadPlan) string {
	text := p.Model + " model"
	if p.Drawn {
		text += fmt.Sprintf(" · seed %d", p.Seed)
	}
	return text
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
			parts = append(parts, fmt.Sprintf("%v %s", o, grouped(n)))
		}
	}
	return orNone(strings.Join(parts, " · "))
}

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
