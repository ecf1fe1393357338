package load

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func sampleReport() *Report {
	yes, no := true, false
	r := &Report{
		Schema: Schema, Target: TargetInfo{URL: "http://127.0.0.1:8081", Profile: "connect", Protocol: "connect", Codec: "json", HTTP: "1.1"},
		Plan:    PlanInfo{Model: "closed", Streams: 5000, DurationMS: 20000, Command: "seq 1 20", Check: "sequence"},
		Streams: Streams{Wanted: 5000, Opened: 5000, OpenPeak: 4999, Completed: 5000, Offered: 1},
		Ledger:  Ledger{Started: 5000, OK: 4000, Killed: 1000},
		Metrics: MetricsInfo{Scraped: 22, Violations: []string{"killed moved by 1001, the driver's ledger says 1000"}},
		Driver:  Driver{CPUSeconds: 3.25, RSSPeakBytes: 64e6, Engine: "portable"},
		Thresholds: []ThresholdResult{
			{Expr: `first_event.p99 < duration("250ms")`, Observed: "first_event.p99 = 12.3ms", OK: &yes},
			{Expr: `outcomes.corrupt == 0`, Observed: "outcomes.corrupt = 3", OK: &no},
			{Expr: `gap.p99 < duration("2s")`, Observed: "gap.p99 = 0s", Why: "gap has no samples"},
		},
		Examples:   []Example{{Stream: 17, Outcome: "corrupt", Message: "line 3: want 2, got \x1b[31mred\u202e and a very long message that goes on and on for far more than one line of text"}},
		DurationMS: 21234,
	}
	r.Streams.Outcomes[OK], r.Streams.Outcomes[Killed], r.Streams.Outcomes[Corrupt] = 3997, 1000, 3
	r.Latency.FirstEvent = Latency{Count: 5000, P50: 99, P90: 12345, P99: 123456, P999: 1234567, Max: 3600_000_000}
	held, short := ClassInfo{Name: "held-all-the-while", Protocol: "grpc"}, ClassInfo{Name: "short", Protocol: "ndjson"}
	held.Outcomes[Killed], short.Outcomes[OK], short.Outcomes[Corrupt] = 1000, 3997, 3
	held.Latency.FirstEvent = Latency{Count: 1000, P50: 99, P90: 123, P99: 456, P999: 789, Max: 12345}
	short.Latency.FirstEvent = Latency{Count: 4000, P50: 101, P90: 12345, P99: 123456, P999: 1234567, Max: 3600_000_000}
	r.Classes = []ClassInfo{held, short}
	r.conclude(false)
	return r
}

func TestTheReportFitsItsWidth(t *testing.T) {
	for _, width := range []int{10, 60, 80, 200} {
		var b strings.Builder
		if err := sampleReport().WriteText(&b, Style{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > max(width, 60) {
				t.Errorf("width %d: %d columns: %q", width, n, line)
			}
			if strings.ContainsFunc(strings.TrimRight(line, "\n"), func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("a character that is not printable: %q", line)
			}
		}
	}
}

func TestTheReportSaysWhatHappened(t *testing.T) {
	var b strings.Builder
	if err := sampleReport().WriteText(&b, Style{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"5000 wanted, 5000 opened, 4999 open at most, 5000 completed", "ok 3997 · killed 1000 · corrupt 3", `stream 17: line 3: want 2, got \x1b[31mred\u202e`,
		"99µs 12.3ms  123ms  1.23s  3600s", "gap                  0      -", "5000 started = 4000 ok + 0 error + 1000 killed + 0 open",
		"22 scrapes, 1 violation", "killed moved by 1001", "3.2 s of processor time, 64 MB", "met          first_event.p99", "missed       outcomes.corrupt == 0  (outcomes.corrupt = 3)",
		"undecided    gap.p99", "FAIL in 21.2s: 3 of 5000 streams failed; 1 invariant of the counters is violated; the threshold",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%q is not in\n%s", part, b.String())
		}
	}
	var colored strings.Builder
	if err := sampleReport().WriteText(&colored, Style{Width: 100, Color: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(colored.String(), "\x1b[31mFAIL") || strings.Contains(b.String(), "\x1b") {
		t.Error("colour is not where it should be")
	}
}

// The members that the format promises are all there, with these names.
func TestTheReportHasTheMembersOfItsFormat(t *testing.T) {
	text, err := json.Marshal(sampleReport())
	if err != nil {
		t.Fatal(err)
	}
	var r map[string]any
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"schema", "verdict", "streams.wanted", "streams.opened", "streams.open_peak", "streams.completed",
		"streams.outcomes.ok", "streams.outcomes.cancelled", "latency_us.first_event.count", "latency_us.gap.p50", "latency_us.end_of_stream.p999",
		"latency_us.start_lag.max", "ledger.started", "ledger.ok", "ledger.error", "ledger.killed", "ledger.open",
		"metrics.scraped", "metrics.violations", "driver.cpu_seconds", "driver.rss_peak_bytes", "driver.engine", "thresholds",
	} {
		var at any = r
		for name := range strings.SplitSeq(path, ".") {
			m, _ := at.(map[string]any)
			if at = m[name]; at == nil {
				t.Errorf("%s is missing", path)
				break
			}
		}
	}
	first, _ := r["thresholds"].([]any)[0].(map[string]any)
	if r["schema"] != "assay.load/v1" || first["expr"] == nil || first["observed"] == nil || first["ok"] != true {
		t.Errorf("schema %v, threshold %v", r["schema"], first)
	}
}

func TestVerdicts(t *testing.T) {
	yes, no := true, false
	fine := func() *Report {
		r := &Report{}
		r.Streams.Completed, r.Streams.Outcomes[OK] = 5, 5
		return r
	}
	tests := map[string]struct {
		change  func(r *Report)
		open    bool
		verdict Verdict
		exit    int
	}{
		"all well":                          {func(*Report) {}, false, Pass, 0},
		"a failed stream":                   {func(r *Report) { r.Streams.Outcomes[Stall]++ }, false, Fail, 1},
		"a stream that we gave up is none":  {func(r *Report) { r.Streams.Outcomes[Cancelled]++ }, false, Pass, 0},
		"nothing ran":                       {func(r *Report) { r.Streams.Outcomes = Outcomes{} }, false, Inconclusive, 5},
		"a blocked stream":                  {func(r *Report) { r.Streams.Outcomes[Blocked]++ }, false, Inconclusive, 5},
		"a violation":                       {func(r *Report) { r.Metrics.Violations = []string{"x"} }, false, Fail, 1},
		"a violation with foreign traffic":  {func(r *Report) { r.Metrics.Violations, r.Metrics.Note = []string{"x"}, "foreign" }, false, Inconclusive, 5},
		"no counters at all":                {func(r *Report) { r.Metrics.Note = "HTTP 404" }, false, Pass, 0},
		"a threshold met":                   {func(r *Report) { r.Thresholds = []ThresholdResult{{OK: &yes}} }, false, Pass, 0},
		"a threshold missed":                {func(r *Report) { r.Thresholds = []ThresholdResult{{OK: &no}, {OK: &yes}} }, false, Fail, 1},
		"a threshold without samples":       {func(r *Report) { r.Thresholds = []ThresholdResult{{}} }, false, Inconclusive, 5},
		"a miss beside one without samples": {func(r *Report) { r.Thresholds = []ThresholdResult{{}, {OK: &no}} }, false, Fail, 1},
		"a schedule that was not kept":      {func(r *Report) { r.Latency.StartLag.P99 = 2e6 }, true, Inconclusive, 5},
		"the closed model has no schedule":  {func(r *Report) { r.Latency.StartLag.P99 = 2e6 }, false, Pass, 0},
		"a process left running":            {func(r *Report) { r.Ledger.Open = 1 }, false, Inconclusive, 5},
		"an interrupt":                      {func(r *Report) { r.Interrupted = true }, false, Inconclusive, 130},
		"a failure before the interrupt":    {func(r *Report) { r.Interrupted = true; r.Streams.Outcomes[Reset]++ }, false, Fail, 130},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := fine()
			tt.change(r)
			r.conclude(tt.open)
			if r.Verdict != tt.verdict || r.Exit() != tt.exit || (len(r.Reasons) == 0) != (tt.verdict == Pass) {
				t.Errorf("%s with exit code %d because of %q, want %s with %d", r.Verdict, r.Exit(), r.Reasons, tt.verdict, tt.exit)
			}
		})
	}
}
