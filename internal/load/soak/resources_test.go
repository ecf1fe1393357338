package soak

import (
	"encoding/json"
	"maps"
	"testing"

	"assay/internal/record/bundle"
)

// A value that JSON does not have, or that is larger than any resource, is left out; the others stay.
func TestAnExpositionIsRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body string
		want map[string]float64
	}{
		"plain values":                 {"# TYPE go_goroutines gauge\ngo_goroutines 7\nprocess_open_fds 9 1700000000\nother 3\n", map[string]float64{keyGoroutines: 7, keyFiles: 9}},
		"series are added up":          {"running{a=\"1\"} 2\nrunning{a=\"}\"} 3\n", map[string]float64{keyActive: 5}},
		"NaN":                          {"go_goroutines 7\nprocess_open_fds NaN\n", map[string]float64{keyGoroutines: 7}},
		"infinities":                   {"go_goroutines 7\nprocess_open_fds +Inf\nprocess_start_time_seconds -Inf\n", map[string]float64{keyGoroutines: 7}},
		"NaN in one of several series": {"running{a=\"1\"} 2\nrunning{a=\"2\"} NaN\n", map[string]float64{}},
		"infinities of both signs":     {"running{a=\"1\"} +Inf\nrunning{a=\"2\"} -Inf\n", map[string]float64{}},
		"a sum that overflows":         {"running{a=\"1\"} 1.7e308\nrunning{a=\"2\"} 1.7e308\n", map[string]float64{}},
		"more than any resource":       {"process_resident_memory_bytes 1.7e308\n", map[string]float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := (&sampler{active: "running"}).read([]byte(tt.body))
			if !maps.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// Recorded values at the limits of a float do not overflow in the conclusion: its report can be written.
func TestAConclusionOnHugeValuesIsWritten(t *testing.T) {
	t.Parallel()
	r := &bundle.SoakReport{Plan: bundle.SoakPlan{DurationMS: 40_000, WindowMS: 2000, Confidence: DefaultConfidence}}
	for i := range int64(20) {
		v := 1.7e308
		if i%2 == 0 {
			v = -v
		}
		r.Windows = append(r.Windows, bundle.SoakWindow{
			Index: int(i) + 1, FromMS: i * 2000, ToMS: i*2000 + 2000, Verdict: bundle.LoadPass,
			Resources: map[string]float64{keyFiles: v}, Minima: map[string]float64{keyMemory: v},
		})
	}
	Conclude(r)
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	for _, s := range r.Series {
		t.Errorf("%s is judged", s.Name)
	}
}
