package soak_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/load/soak"
	"assay/internal/record/bundle"
)

// killed writes the folder of a soak that was killed in its second window, with a change of its report and the line of a window.
func killed(t *testing.T, url string, change func(r *bundle.SoakReport), line string) string {
	t.Helper()
	r := bundle.SoakReport{
		Schema: bundle.SoakSchema, Interrupted: true, Verdict: bundle.LoadInconclusive, Started: time.Now().Add(-time.Minute),
		Target: bundle.LoadTarget{URL: url, HTTP: "1.1"},
		Plan:   bundle.SoakPlan{DurationMS: 3_600_000, WindowMS: 2000, WarmupMS: 4000, Rate: 20, Held: 2, Confidence: 0.99, Seed: 7},
	}
	change(&r)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{bundle.SoakFile: string(text), bundle.WindowsFile: line} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// window returns the line of a window.
func window(index, from, to int64) string {
	return fmt.Sprintf(`{"index":%d,"from_ms":%d,"to_ms":%d,"verdict":"pass"}`+"\n", index, from, to)
}

// The plan of a folder is checked like the one of the flags, before the gateway is asked and before anything is written.
func TestAResumedPlanIsChecked(t *testing.T) {
	t.Parallel()
	const url = "http://127.0.0.1:1"
	for name, tt := range map[string]struct {
		change func(r *bundle.SoakReport)
		want   string
	}{
		"a window that overflows":   {func(r *bundle.SoakReport) { r.Plan.WindowMS = 1 << 62 }, "plan.window_ms 2562047h"},
		"times that overflow":       {func(r *bundle.SoakReport) { r.Plan.WindowMS, r.Plan.DurationMS = 1<<62, 1<<62 }, "plan.window_ms 2562047h"},
		"a duration that overflows": {func(r *bundle.SoakReport) { r.Plan.DurationMS = math.MaxInt64 }, "plan.duration_ms 2562047h"},
		"a short window":            {func(r *bundle.SoakReport) { r.Plan.WindowMS = 1 }, "plan.window_ms 1ms: want at least 2s"},
		"too many windows":          {func(r *bundle.SoakReport) { r.Plan.DurationMS *= 24 }, "plan.duration_ms 23h59m58s has more than 10000 windows"},
		"a negative warm-up":        {func(r *bundle.SoakReport) { r.Plan.WarmupMS = -1 }, "plan.warmup_ms -1ms: want"},
		"a high rate":               {func(r *bundle.SoakReport) { r.Plan.Rate = 1e9 }, "plan.rate 1e+09: want"},
		"no rate":                   {func(r *bundle.SoakReport) { r.Plan.Rate = 0 }, "plan.rate 0: want"},
		"many held streams":         {func(r *bundle.SoakReport) { r.Plan.Held = 1e9 }, "plan.held 1000000000: want"},
		"negative held streams":     {func(r *bundle.SoakReport) { r.Plan.Held = -1 }, "plan.held -1: want"},
		"no confidence":             {func(r *bundle.SoakReport) { r.Plan.Confidence = 0 }, "plan.confidence 0: want"},
		"an unknown fault":          {func(r *bundle.SoakReport) { r.Plan.Inject = []string{"x"} }, `plan.inject x: unknown fault "x"`},
		"a version of HTTP":         {func(r *bundle.SoakReport) { r.Target.HTTP = "3" }, `target.http "3": want`},
		"begun in the year 1":       {func(r *bundle.SoakReport) { r.Started = time.Time{} }, "started 0001-01-01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, url)
			o.Out, o.Resume = killed(t, url, tt.change, window(1, 0, 2000)), true
			before, err := os.ReadFile(filepath.Join(o.Out, bundle.SoakFile))
			if err != nil {
				t.Fatal(err)
			}
			_, err = soak.Run(t.Context(), o)
			if want := bundle.SoakFile + ": " + tt.want; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			if after, _ := os.ReadFile(filepath.Join(o.Out, bundle.SoakFile)); !bytes.Equal(after, before) {
				t.Errorf("soak.json is now %s", after)
			}
		})
	}
}

// A plan with a gap in it goes on: only the windows to come are counted. Here nobody answers at the target.
func TestALongGapIsNoMistake(t *testing.T) {
	t.Parallel()
	const url, day = "http://127.0.0.1:1", 24 * 3_600_000
	o := options(t, url)
	o.Out, o.Resume = killed(t, url, func(r *bundle.SoakReport) { r.Plan.DurationMS = 30 * day }, window(1, 30*day-20_000, 30*day-10_000)), true
	if _, err := soak.Run(t.Context(), o); err == nil || strings.Contains(err.Error(), bundle.SoakFile) {
		t.Errorf("%v, want that nobody answers", err)
	}
}

// A recorded window that cannot be is damage.
func TestARecordedWindowIsChecked(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"a negative number":     window(-5, 0, 2000),
		"the highest number":    window(math.MaxInt64, 0, 2000),
		"before the beginning":  window(1, -1, 2000),
		"a window without time": window(1, 2000, 2000),
		"a time that overflows": window(1, 0, 1<<62),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := killed(t, "http://127.0.0.1:1", func(*bundle.SoakReport) {}, line)
			if _, err := soak.Open(dir); err == nil || !strings.Contains(err.Error(), bundle.WindowsFile+":1: window") {
				t.Errorf("%v, want an error at the line", err)
			}
		})
	}
}
