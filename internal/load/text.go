package load

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Style says how a report is drawn for people.
type Style struct {
	// Width is the number of columns: 60 to 200.
	Width int
	// Color draws the verdict, failures and violations in colour.
	Color bool
}

// WriteText draws the report for people: streams, latencies, invariants,
// thresholds, and the verdict on the last line. Text that came from the target is
// drawn with its control characters escaped.
func (r *Report) WriteText(w io.Writer, style Style) error {
	t := &page{style: style}
	t.style.Width = min(max(style.Width, 60), 200)
	t.put("", fmt.Sprintf("%s · %s over HTTP %s · %s", r.Target.URL, r.Target.Protocol, r.Target.HTTP, r.Plan.model()))
	t.blank()
	t.streams(r)
	t.blank()
	t.latencies(r)
	t.blank()
	t.books(r)
	t.thresholds(r)
	t.blank()
	t.verdict(r)
	if _, err := io.WriteString(w, t.b.String()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// model is the model, and the seed where something was drawn by it.
func (p *PlanInfo) model() string {
	text := p.Model + " model"
	if p.Drawn {
		text += fmt.Sprintf(" · seed %d", p.Seed)
	}
	return text
}

// page is a report that is being drawn.
type page struct {
	style Style
	b     strings.Builder
}

// label is the width of the first column.
const label = 13

func (t *page) blank() { t.b.WriteByte('\n') }

// put writes a label and text, wrapped below its first word.
func (t *page) put(name, text string) {
	indent := label
	if name == "" {
		indent = 2
	} else {
		name += strings.Repeat(" ", max(1, label-len(name)))
	}
	for i, line := range wrap(text, t.style.Width-indent) {
		switch {
		case i > 0:
			t.b.WriteString(strings.Repeat(" ", indent))
		default:
			t.b.WriteString(name)
		}
		t.b.WriteString(line + "\n")
	}
}

// paint draws text in a colour: 31 red, 32 green, 33 yellow.
func (t *page) paint(color int, text string) string {
	if !t.style.Color {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, text)
}

func (t *page) streams(r *Report) {
	s := &r.Streams
	text := fmt.Sprintf("%d wanted, %d opened, %d open at most, %d completed", s.Wanted, s.Opened, s.OpenPeak, s.Completed)
	if s.Disconnected > 0 {
		text += fmt.Sprintf(", %d hung up on", s.Disconnected)
	}
	t.put("streams", text)
	t.put("outcomes", inWords(s.Outcomes))
	for _, c := range r.Classes {
		t.put("  "+c.Name, fmt.Sprintf("%s: %s", c.Protocol, inWords(c.Outcomes)))
	}
	for _, e := range r.Examples {
		text := fmt.Sprintf("stream %d: %s", e.Stream, printable(e.Message))
		if e.Times > 1 {
			text += fmt.Sprintf(" (%d times)", e.Times)
		}
		t.put("  "+e.Outcome, text)
	}
	what := map[string]string{
		"sequence": "every line checked", "none": "not checked", "same": "all alike wherever a command ended by itself",
	}[r.Plan.Check]
	if what == "" {
		what = "its digest checked wherever a command ended by itself"
	}
	t.put("output", fmt.Sprintf("%d events, %d bytes, %s", r.Output.Events, r.Output.Bytes, what))
}

// inWords is the outcomes that occurred.
func inWords(all Outcomes) string {
	var parts []string
	for o, name := range outcomeNames() {
		if all[o] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", name, all[o]))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " · ")
}

func (t *page) latencies(r *Report) {
	const column = 7
	row := func(name, count string, values ...string) {
		fmt.Fprintf(&t.b, "%-*s%9s", label, name, count)
		for _, v := range values {
			fmt.Fprintf(&t.b, "%*s", column, v)
		}
		t.b.WriteByte('\n')
	}
	row("latency", "count", "p50", "p90", "p99", "p99.9", "max")
	all := func(name string, l *Latency) {
		row(name, strconv.FormatInt(l.Count, 10), short(l.P50), short(l.P90), short(l.P99), short(l.P999), short(l.Max))
	}
	for m := range Metric(numMetrics) {
		l := r.Latency.at(m)
		name := strings.ReplaceAll(m.String(), "_", " ")
		if l.Count == 0 && m > StartLag {
			continue // not measured by every engine, or for every command
		}
		if l.Count == 0 {
			row(name, "0", "-", "-", "-", "-", "-")
			continue
		}
		all(name, l)
		for i := range r.Classes {
			if l := r.Classes[i].Latency.at(m); l != nil && l.Count > 0 {
				all("  "+cut(r.Classes[i].Name, label-3), l)
			}
		}
	}
	if r.Plan.WarmupMS > 0 {
		t.put("", fmt.Sprintf("the first %v are not in it", time.Duration(r.Plan.WarmupMS)*time.Millisecond))
	}
	if r.Output.Coalesced > 0 {
		t.put("", fmt.Sprintf("%d events were read together with a later one: no gap was measured", r.Output.Coalesced))
	}
	if n := r.Driver.UnstampedReads; n > 0 {
		t.put("", fmt.Sprintf("%d reads had no time of arrival from the kernel: theirs is the driver's", n))
	}
	if r.Output.Clamped > 0 {
		t.put("", fmt.Sprintf("%d values were out of range, and count as the nearest in it", r.Output.Clamped))
	}
}

// cut shortens a name of ASCII to a width.
func cut(name string, width int) string {
	if len(name) <= width {
		return name
	}
	return name[:width-1] + "…"
}

// short is a span of microseconds in at most six columns.
func short(us int64) string {
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

func (t *page) books(r *Report) {
	l := &r.Ledger
	text := fmt.Sprintf("%d started = %d ok + %d error + %d killed + %d open", l.Started, l.OK, l.Error, l.Killed, l.Open)
	if l.Unseen > 0 {
		text += fmt.Sprintf(" + %d that ended unseen", l.Unseen)
	}
	if l.Uncertain > 0 {
		text += fmt.Sprintf("; %d unknown", l.Uncertain)
	}
	t.put("ledger", text)
	m := &r.Metrics
	switch {
	case m.Scraped == 0:
		t.put("counters", printable(m.Note))
	case len(m.Violations) == 0:
		t.put("counters", fmt.Sprintf("%d scrapes, before, during and after: they agree with the ledger", m.Scraped))
	default:
		text := fmt.Sprintf("%d scrapes, %s", m.Scraped, plural(len(m.Violations), "violation", "violations"))
		if m.Note != "" {
			text += "; " + printable(m.Note)
		}
		t.put("counters", text)
		for _, v := range m.Violations {
			t.put("", "  "+printable(v))
		}
	}
	d := &r.Driver
	text = fmt.Sprintf("%s engine, %.1f s of processor time, %.0f MB of memory at most", d.Engine, d.CPUSeconds, float64(d.RSSPeakBytes)/1e6)
	if d.Processes > 1 {
		text += fmt.Sprintf(", %d worker processes included", d.Processes)
	}
	if r.Target.Embedded {
		text += ", the embedded gateway included"
	}
	t.put("driver", text)
	for _, ms := range d.ClockStepsMS {
		t.put("", fmt.Sprintf("the clock of this machine was set by %+.1f ms during the run: times in files jump, latencies do not", ms))
	}
}

func (t *page) thresholds(r *Report) {
	if len(r.Thresholds) == 0 {
		return
	}
	t.blank()
	for _, th := range r.Thresholds {
		word, color, detail := "undecided", 33, th.Why
		switch {
		case th.OK != nil && *th.OK:
			word, color, detail = "met", 32, th.Observed
		case th.OK != nil:
			word, color, detail = "missed", 31, th.Observed
		}
		lines := wrap(printable(th.Expr+"  ("+detail+")"), t.style.Width-label)
		for i, line := range lines {
			head := strings.Repeat(" ", label)
			if i == 0 {
				head = t.paint(color, word) + strings.Repeat(" ", label-len(word))
			}
			t.b.WriteString(head + line + "\n")
		}
	}
}

func (t *page) verdict(r *Report) {
	color := map[Verdict]int{Pass: 32, Fail: 31, Inconclusive: 33}[r.Verdict]
	took := time.Duration(r.DurationMS) * time.Millisecond
	if took >= time.Second {
		took = took.Round(100 * time.Millisecond)
	}
	text := strings.ToUpper(string(r.Verdict)) + " in " + took.String()
	if len(r.Reasons) > 0 {
		text += ": " + printable(strings.Join(r.Reasons, "; "))
	}
	for _, line := range wrap(text, t.style.Width) {
		t.b.WriteString(t.paint(color, line) + "\n")
	}
}

// printable is text on one line, with everything that is not printable escaped.
func printable(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// wrap breaks text into lines of at most n columns, at spaces where it can.
func wrap(text string, n int) []string {
	var lines []string
	rest := []rune(text)
	for len(rest) > n {
		at := n
		for at > n/2 && rest[at] != ' ' {
			at--
		}
		if rest[at] != ' ' {
			at = n
		}
		lines = append(lines, strings.TrimRight(string(rest[:at]), " "))
		rest = []rune(strings.TrimLeft(string(rest[at:]), " "))
	}
	return append(lines, string(rest))
}
