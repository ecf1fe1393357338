package reports

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

// loaded is the report of a load run with a failure of every kind.
func loaded() *bundle.LoadReport {
	yes, no := true, false
	r := &bundle.LoadReport{
		Schema: bundle.LoadSchema, Target: bundle.LoadTarget{URL: "http://127.0.0.1:8081", Profile: "connect", Protocol: "connect", Codec: "json", HTTP: "1.1"},
		Plan:    bundle.LoadPlan{Model: "closed", Streams: 5000, DurationMS: 20000, Command: "seq 1 20", Check: "sequence"},
		Streams: bundle.LoadStreams{Wanted: 5000, Opened: 5000, OpenPeak: 4999, Completed: 5000, Offered: 1},
		Ledger:  bundle.LoadLedger{Started: 5000, OK: 4000, Killed: 1000},
		Metrics: bundle.LoadMetrics{Scraped: 22, Violations: []string{"killed moved by 1001, the driver's ledger says 1000"}},
		Driver:  bundle.LoadDriver{CPUSeconds: 3.25, RSSPeakBytes: 64e6, Engine: "portable"},
		Thresholds: []bundle.LoadThreshold{
			{Expr: `first_event.p99 < duration("250ms")`, Observed: "first_event.p99 = 12.3ms", OK: &yes},
			{Expr: `outcomes.corrupt == 0`, Observed: "outcomes.corrupt = 3", OK: &no},
			{Expr: `gap.p99 < duration("2s")`, Observed: "gap.p99 = 0s", Why: "gap has no samples"},
		},
		Examples:   []bundle.LoadExample{{Stream: 17, Outcome: "corrupt", Message: "line 3: want 2, got \x1b[31mred\u202e and a very long message that goes on and on for far more than one line of text"}},
		Started:    began,
		DurationMS: 21234,
		Rates:      bundle.LoadRates{Begun: 250, Completed: 235.472, Events: 4.25},
	}
	r.Streams.Outcomes[bundle.StreamOK], r.Streams.Outcomes[bundle.StreamKilled], r.Streams.Outcomes[bundle.StreamCorrupt] = 3997, 1000, 3
	r.Latency.FirstEvent = bundle.Latency{Count: 5000, P50: 99, P90: 12345, P99: 123456, P999: 1234567, Max: 3600_000_000}
	held, short := bundle.LoadClass{Name: "held-all-the-while", Protocol: "grpc"}, bundle.LoadClass{Name: "short", Protocol: "ndjson"}
	held.Outcomes[bundle.StreamKilled], short.Outcomes[bundle.StreamOK], short.Outcomes[bundle.StreamCorrupt] = 1000, 3997, 3
	held.Latency.FirstEvent = bundle.Latency{Count: 1000, P50: 99, P90: 123, P99: 456, P999: 789, Max: 12345}
	short.Latency.FirstEvent = bundle.Latency{Count: 4000, P50: 101, P90: 12345, P99: 123456, P999: 1234567, Max: 3600_000_000}
	r.Classes = []bundle.LoadClass{held, short}
	r.Verdict, r.Reasons = bundle.LoadFail, []string{
		"3 of 5000 streams failed", "1 invariant of the counters is violated", "the threshold outcomes.corrupt == 0 is missed",
		`the threshold gap.p99 < duration("2s") cannot be decided: gap has no samples`,
	}
	return r
}

func TestALoadReportNamesTheLoopsIfThereAreSeveral(t *testing.T) {
	for loops, want := range map[int]string{0: "fast engine, 3.2 s", 1: "fast engine, 3.2 s", 4: "fast engine with 4 loops, 3.2 s"} {
		if got := engineText(&bundle.LoadDriver{Engine: "fast", Loops: loops, CPUSeconds: 3.25}); !strings.HasPrefix(got, want) {
			t.Errorf("%d loops: %q", loops, got)
		}
	}
}

func TestALoadReportInJUnitAndMarkdown(t *testing.T) {
	for format, name := range map[string]string{FormatJUnit: "load.xml", FormatMarkdown: "load.md"} {
		var b bytes.Buffer
		if err := Load().Render(&b, format, loaded(), Style{}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// Each reason for a verdict makes one case red, and no reason is lost.
func TestEachReasonOfALoadVerdictIsOneRedCase(t *testing.T) {
	no := false
	for name, c := range map[string]struct {
		change                    func(r *bundle.LoadReport)
		failures, errors, skipped int
	}{
		"nothing is wrong":      {func(*bundle.LoadReport) {}, 0, 0, 0},
		"there are no counters": {func(r *bundle.LoadReport) { r.Metrics = bundle.LoadMetrics{Note: "no /metrics"} }, 0, 0, 1},
		"streams failed":        {func(r *bundle.LoadReport) { r.Verdict, r.Streams.Outcomes[bundle.StreamReset] = bundle.LoadFail, 2 }, 1, 0, 0},
		"a threshold is missed": {func(r *bundle.LoadReport) {
			r.Verdict, r.Thresholds = bundle.LoadFail, []bundle.LoadThreshold{{OK: &no}}
		}, 1, 0, 0},
		"a threshold is undecided": {func(r *bundle.LoadReport) {
			r.Verdict, r.Thresholds = bundle.LoadInconclusive, []bundle.LoadThreshold{{}}
		}, 0, 1, 0},
		"a counter is wrong":      {func(r *bundle.LoadReport) { r.Verdict, r.Metrics.Violations = bundle.LoadFail, []string{"v"} }, 1, 0, 0},
		"the run was interrupted": {func(r *bundle.LoadReport) { r.Verdict, r.Interrupted = bundle.LoadInconclusive, true }, 0, 1, 0},
		"interrupted, after failures": {func(r *bundle.LoadReport) {
			r.Verdict, r.Interrupted, r.Streams.Outcomes[bundle.StreamReset] = bundle.LoadFail, true, 1
		}, 1, 1, 0},
		"a reason of no other case": {func(r *bundle.LoadReport) { r.Verdict, r.Reasons = bundle.LoadInconclusive, []string{"late"} }, 0, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := &bundle.LoadReport{Verdict: bundle.LoadPass, Metrics: bundle.LoadMetrics{Scraped: 1}}
			c.change(r)
			var b bytes.Buffer
			if err := Load().Render(&b, FormatJUnit, r, Style{}); err != nil {
				t.Fatal(err)
			}
			var doc struct {
				Failures int `xml:"failures,attr"`
				Errors   int `xml:"errors,attr"`
				Suite    struct {
					Skipped int `xml:"skipped,attr"`
				} `xml:"testsuite"`
			}
			if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
				t.Fatal(err)
			}
			if doc.Failures != c.failures || doc.Errors != c.errors || doc.Suite.Skipped != c.skipped {
				t.Errorf("%+v, want %d failures, %d errors, %d skipped:\n%s", doc, c.failures, c.errors, c.skipped, &b)
			}
		})
	}
}
