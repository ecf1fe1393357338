package bundle

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestALoadReportConformsToItsSchema(t *testing.T) {
	report, err := json.Marshal(LoadReport{
		Schema: LoadSchema, Verdict: LoadPass, Thresholds: []LoadThreshold{}, Examples: []LoadExample{}, Metrics: LoadMetrics{Violations: []string{}},
	})
	must(t, err)
	must(t, conforms("load", report, maxValues))
	for _, wrong := range []string{`"assay.load/v1"`, `"pass"`, `"stall"`, `"killed"`} {
		if conforms("load", bytes.Replace(report, []byte(wrong), []byte(`"x"`), 1), maxValues) == nil {
			t.Errorf("a report without %s conforms", wrong)
		}
	}
}

// The report has every member of the format, under these names.
func TestTheReportHasTheMembersOfItsFormat(t *testing.T) {
	text, err := json.Marshal(LoadReport{Metrics: LoadMetrics{Violations: []string{}}, Thresholds: []LoadThreshold{{}}})
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
	if first["expr"] == nil || first["observed"] == nil {
		t.Errorf("threshold %v", first)
	}
}
