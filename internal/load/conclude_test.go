package load

import (
	"testing"

	"assay/internal/record/bundle"
)

func TestVerdicts(t *testing.T) {
	yes, no := true, false
	fine := func() *bundle.LoadReport {
		r := &bundle.LoadReport{}
		r.Streams.Completed, r.Streams.Outcomes[bundle.StreamOK] = 5, 5
		return r
	}
	tests := map[string]struct {
		change  func(r *bundle.LoadReport)
		open    bool
		verdict bundle.LoadVerdict
		exit    int
	}{
		"all well":                          {func(*bundle.LoadReport) {}, false, bundle.LoadPass, 0},
		"a failed stream":                   {func(r *bundle.LoadReport) { r.Streams.Outcomes[bundle.StreamStall]++ }, false, bundle.LoadFail, 1},
		"a cancelled stream":                {func(r *bundle.LoadReport) { r.Streams.Outcomes[bundle.StreamCancelled]++ }, false, bundle.LoadPass, 0},
		"nothing ran":                       {func(r *bundle.LoadReport) { r.Streams.Outcomes = bundle.StreamOutcomes{} }, false, bundle.LoadInconclusive, 5},
		"a blocked stream":                  {func(r *bundle.LoadReport) { r.Streams.Outcomes[bundle.StreamBlocked]++ }, false, bundle.LoadInconclusive, 5},
		"a violation":                       {func(r *bundle.LoadReport) { r.Metrics.Violations = []string{"x"} }, false, bundle.LoadFail, 1},
		"a violation with foreign traffic":  {func(r *bundle.LoadReport) { r.Metrics.Violations, r.Metrics.Note = []string{"x"}, "foreign" }, false, bundle.LoadInconclusive, 5},
		"no counters at all":                {func(r *bundle.LoadReport) { r.Metrics.Note = "HTTP 404" }, false, bundle.LoadPass, 0},
		"a threshold met":                   {func(r *bundle.LoadReport) { r.Thresholds = []bundle.LoadThreshold{{OK: &yes}} }, false, bundle.LoadPass, 0},
		"a threshold missed":                {func(r *bundle.LoadReport) { r.Thresholds = []bundle.LoadThreshold{{OK: &no}, {OK: &yes}} }, false, bundle.LoadFail, 1},
		"a threshold without samples":       {func(r *bundle.LoadReport) { r.Thresholds = []bundle.LoadThreshold{{}} }, false, bundle.LoadInconclusive, 5},
		"a miss beside one without samples": {func(r *bundle.LoadReport) { r.Thresholds = []bundle.LoadThreshold{{}, {OK: &no}} }, false, bundle.LoadFail, 1},
		"a schedule that was not kept":      {func(r *bundle.LoadReport) { r.Latency.StartLag.P99 = 2e6 }, true, bundle.LoadInconclusive, 5},
		"the closed model has no schedule":  {func(r *bundle.LoadReport) { r.Latency.StartLag.P99 = 2e6 }, false, bundle.LoadPass, 0},
		"a process left running":            {func(r *bundle.LoadReport) { r.Ledger.Open = 1 }, false, bundle.LoadInconclusive, 5},
		"an interrupt":                      {func(r *bundle.LoadReport) { r.Interrupted = true }, false, bundle.LoadInconclusive, 130},
		"a failure before the interrupt":    {func(r *bundle.LoadReport) { r.Interrupted = true; r.Streams.Outcomes[bundle.StreamReset]++ }, false, bundle.LoadFail, 130},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := fine()
			tt.change(r)
			conclude(r, tt.open)
			if r.Verdict != tt.verdict || r.Exit() != tt.exit || (len(r.Reasons) == 0) != (tt.verdict == bundle.LoadPass) {
				t.Errorf("%s with exit code %d because of %q, want %s with %d", r.Verdict, r.Exit(), r.Reasons, tt.verdict, tt.exit)
			}
		})
	}
}
