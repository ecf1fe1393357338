package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/bundle"
)

// loadMarkdown renders a load run for a pull request or a wiki: the verdict and its
// reasons, then tables of outcomes, latencies and thresholds, and the counters. Text
// from a target cannot become markup.
func loadMarkdown(w io.Writer, r *bundle.LoadReport) error {
	m := loadPage{r: r}
	m.header()
	m.outcomes()
	m.latencies()
	m.thresholds()
	m.counters()
	return writePage(w, m.b.String())
}

type loadPage struct {
	b strings.Builder
	r *bundle.LoadReport
}

func (m *loadPage) printf(format string, args ...any) { fmt.Fprintf(&m.b, format, args...) }

func (m *loadPage) header() {
	r := m.r
	m.printf("# Load: %s\n\n", strings.ToUpper(string(r.Verdict)))
	target := escaped(r.Target.URL)
	if r.Target.Embedded {
		target += " (embedded reference gateway)"
	}
	m.printf("%s, %s over HTTP %s, %s, %s.\n\n", target, escaped(r.Target.Protocol), escaped(r.Target.HTTP), escaped(loadModel(&r.Plan)), took(r.DurationMS))
	reasons := r.Reasons
	if why := uncompared(&r.Metrics); why != "" {
		reasons = append(slices.Clone(reasons), why)
	}
	for _, reason := range reasons {
		m.printf("- %s\n", escaped(reason))
	}
	if len(reasons) > 0 {
		m.printf("\n")
	}
	if s := r.Sandboxes; s != nil {
		m.printf("Sandboxes: %s.\n\n", escaped(sandboxesText(s)))
		for _, text := range s.Messages {
			m.printf("- %s\n", escaped(text))
		}
		if len(s.Messages) > 0 {
			m.printf("\n")
		}
	}
	if text := workersText(r); text != "" {
		m.printf("Workers: %s.\n\n", escaped(text))
		for _, text := range workerLines(r) {
			m.printf("- %s\n", escaped(text))
		}
		m.printf("\n")
	}
	m.printf("Streams: %s. Output: %s.\n", escaped(streamsText(&r.Streams)), escaped(outputText(r)))
	if text := ratesText(r); text != "" {
		m.printf("Per second: %s.\n", escaped(text))
	}
}

func (m *loadPage) outcomes() {
	m.printf("\n## Streams\n\n| class | outcomes |\n|---|---|\n| all | %s |\n", escaped(outcomesInWords(m.r.Streams.Outcomes)))
	for _, c := range m.r.Classes {
		m.printf("| %s (%s) | %s |\n", escaped(c.Name), escaped(c.Protocol), escaped(outcomesInWords(c.Outcomes)))
	}
	if len(m.r.Examples) > 0 {
		m.printf("\n")
	}
	for _, e := range m.r.Examples {
		m.printf("- **%s**: %s\n", escaped(e.Outcome), escaped(exampleText(e)))
	}
}

func (m *loadPage) latencies() {
	m.printf("\n## Latency\n\n| | count | %s |\n|---|%s\n", strings.Join(loadQuantiles, " | "), strings.Repeat("---:|", 1+len(loadQuantiles)))
	row := func(name string, l *bundle.Latency) {
		m.printf("| %s | %d", escaped(name), l.Count)
		for _, us := range []int64{l.P50, l.P90, l.P99, l.P999, l.Max} {
			if l.Count == 0 {
				m.printf(" | -")
				continue
			}
			m.printf(" | %s", shortSpan(us))
		}
		m.printf(" |\n")
	}
	for _, d := range loadMetrics(m.r) {
		row(d.name, d.total)
		for _, c := range d.classes {
			row(d.name+", "+c.name, c.of)
		}
	}
	for _, text := range latencyNotes(m.r) {
		m.printf("\nNote: %s.\n", escaped(text))
	}
}

func (m *loadPage) thresholds() {
	if len(m.r.Thresholds) == 0 {
		return
	}
	m.printf("\n## Thresholds\n\n| result | condition | |\n|---|---|---|\n")
	for _, th := range m.r.Thresholds {
		word, detail := thresholdText(th)
		m.printf("| %s | %s | %s |\n", word, escaped(th.Expr), escaped(detail))
	}
}

func (m *loadPage) counters() {
	m.printf("\n## Counters\n\nLedger of the driver: %s.\n\nCounters of the gateway: %s.\n", escaped(ledgerText(&m.r.Ledger)), escaped(countersText(&m.r.Metrics)))
	if len(m.r.Metrics.Violations) > 0 {
		m.printf("\n")
	}
	for _, v := range m.r.Metrics.Violations {
		m.printf("- %s\n", escaped(v))
	}
	m.printf("\nDriver: %s.\n", escaped(driverText(m.r)))
	for _, text := range clockNotes(m.r) {
		m.printf("\nNote: %s.\n", escaped(text))
	}
}
