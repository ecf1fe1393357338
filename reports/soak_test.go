package reports

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
)

// soakSample is a soak that leaks memory from its fifth minute on, with a gap, a lost stream and an injected fault.
func soakSample() *bundle.SoakReport {
	r := &bundle.SoakReport{
		Schema: bundle.SoakSchema, Tool: bundle.Tool{Name: "assay", Version: "1.2.3"}, Run: "20260102T030405-00000007", Verdict: bundle.LoadFail,
		Target:  bundle.LoadTarget{URL: "http://127.0.0.1:8081", Profile: "connect", Protocol: "connect", Codec: "json", HTTP: "1.1"},
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), DurationMS: 1_260_000,
		Plan: bundle.SoakPlan{
			DurationMS: 1_200_000, WindowMS: 60_000, WarmupMS: 120_000, Seed: 7, Rate: 20, Held: 20, Confidence: 0.99,
			Classes: []bundle.SoakClass{{Name: "short", Share: 0.55}, {Name: "socket", Share: 0.1, Needs: "stdio.ws", Absent: true}},
		},
		Reasons: []string{"window 12: 1 of 1320 streams failed: reset by the gateway", "heap rises by 72.6 MiB an hour (68.8 MiB to 76.0 MiB with 99.9 % confidence), 1.01 MiB per 1,000 operations, since 0:05:00 (0:04:00 to 0:06:00)"},
		Gaps:    []bundle.SoakGap{{FromMS: 600_000, ToMS: 660_000, Why: "the soak was interrupted, and resumed"}},
		Findings: []bundle.SoakFinding{
			{Kind: bundle.SoakLoss, Message: "window 12: 1 of 1320 streams failed: reset by the gateway", SinceMS: 780_000, FromWindow: 12, Decides: true},
			{Kind: bundle.SoakLeak, Series: "heap", Message: "heap rises by 72.6 MiB an hour", SinceMS: 300_000, FromWindow: 5, Decides: true},
			{Kind: bundle.SoakLeak, Series: "resident memory", Message: "resident memory rose by 30.0 MiB until 0:03:00 and then stayed", SinceMS: 180_000, FromWindow: 3},
		},
		Events: []bundle.SoakEvent{
			{AtMS: 180_000, Kind: "step", Message: "resident memory rose by 30.0 MiB until 0:03:00 and then stayed"},
			{AtMS: 300_000, Kind: "leak", Message: "heap rises by 72.6 MiB an hour"},
			{AtMS: 600_000, Kind: "gap", Message: "1m0s: the soak was interrupted, and resumed"},
		},
		Series: []bundle.SoakSeries{
			{Name: "heap", Kind: "memory", Unit: "bytes", Verdict: "leaks", N: 18, Missing: 1, Confidence: 0.999, Message: "heap rises by 72.6 MiB an hour"},
			{Name: "open descriptors", Kind: "descriptors", Verdict: "steady", N: 18, Confidence: 0.999, Message: "open descriptors is steady: 18 windows would have shown a rise of 12 an hour"},
			{Name: "first event p50", Kind: "latency", Unit: "us", Verdict: "inconclusive", N: 18, Confidence: 0.999, Message: "first event p50 rises; but the driver itself became slower, so this machine did"},
		},
		Totals: bundle.SoakTotals{
			Streams: 26_400, Events: 90_000, Bytes: 4_000_000, Ledger: bundle.LoadLedger{Started: 26_400, OK: 20_000, Killed: 6_000, Unseen: 399, Error: 1},
			Work: map[string]bundle.SoakWork{"attach": {Done: 300}, "files": {Done: 300, Failed: 2, Example: "download: HTTP 500"}},
		},
		Driver: bundle.LoadDriver{Engine: "fast", CPUSeconds: 12.3, RSSPeakBytes: 54_000_000},
	}
	r.Totals.Outcomes[bundle.StreamOK], r.Totals.Outcomes[bundle.StreamKilled], r.Totals.Outcomes[bundle.StreamReset] = 20_399, 6_000, 1
	for i := range 20 {
		from := int64(i) * 60_000
		if i >= 10 {
			from += 60_000
		}
		w := bundle.SoakWindow{Index: i + 1, FromMS: from, ToMS: from + 60_000, Warmup: i < 2, Verdict: bundle.LoadPass}
		w.Streams.Completed = 1320
		w.Streams.Outcomes[bundle.StreamOK] = 1320
		w.Latency.FirstEvent = bundle.Latency{Count: 1320, P50: 620, P90: 1200, P99: 5400, P999: 9000, Max: 12_000}
		if i == 11 {
			w.Verdict, w.Message = bundle.LoadFail, "1 of 1320 streams failed"
			w.Streams.Outcomes[bundle.StreamReset] = 1
		}
		r.Windows = append(r.Windows, w)
		for s := range r.Series {
			r.Series[s].Points = append(r.Series[s].Points, bundle.SoakPoint{AtMS: w.ToMS, Value: float64(1000 + 10*i), Warmup: i < 2})
		}
	}
	return r
}

func TestTheFormatsOfASoak(t *testing.T) {
	for _, format := range Soak().Formats() {
		var b bytes.Buffer
		if err := Soak().Render(&b, format, soakSample(), Style{Width: 80}); err != nil || b.Len() == 0 {
			t.Errorf("%s: %d bytes, %v", format, b.Len(), err)
		}
		if format == FormatMarkdown || format == FormatJUnit {
			golden(t, "soak-"+format+".txt", b.Bytes())
		}
	}
	var b bytes.Buffer
	if err := Soak().Render(&b, FormatCTRF, soakSample(), Style{}); err == nil || !strings.Contains(err.Error(), "the formats are") {
		t.Errorf("ctrf: %v", err)
	}
	if err := Soak().Render(&b, FormatJSON, soakSample(), Style{}); err != nil {
		t.Fatal(err)
	}
	var back bundle.SoakReport
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Verdict != bundle.LoadFail || len(back.Windows) != 20 {
		t.Errorf("read back: %v", err)
	}
}

// An interrupted soak and one without windows have a report as well.
func TestASoakThatDidNotEnd(t *testing.T) {
	r := soakSample()
	r.Interrupted = true
	var b bytes.Buffer
	if err := Soak().Render(&b, FormatTerminal, r, Style{Width: 60}); err != nil || !strings.Contains(b.String(), "--resume") {
		t.Errorf("%v\n%s", err, b.String())
	}
	empty := &bundle.SoakReport{Schema: bundle.SoakSchema, Verdict: bundle.LoadInconclusive, Reasons: []string{"no window was recorded"}}
	for _, format := range Soak().Formats() {
		if err := Soak().Render(&b, format, empty, Style{Width: 60}); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}
