package soak_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/fakes/gateway"
	"assay/internal/load"
	"assay/internal/load/portable"
	"assay/internal/load/soak"
	"assay/internal/record/bundle"
	"assay/internal/target"
)

func options(t *testing.T, url string) soak.Options {
	t.Helper()
	return soak.Options{
		Load:     load.Options{Target: target.Options{URL: url}, Profile: "full", Engine: portable.Engine{}, Version: "test"},
		Duration: 8 * time.Second, Window: 2 * time.Second, Rate: 30, Held: 4, Seed: 7,
		Out: filepath.Join(t.TempDir(), "soak"),
	}
}

func reference(t *testing.T) string {
	t.Helper()
	g, err := gateway.Start(t.Context(), gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g.URL()
}

func TestASoakRecordsItsWindows(t *testing.T) {
	t.Parallel()
	o := options(t, reference(t))
	r, err := soak.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// On a busy machine a window ends late, and the soak has fewer of them.
	if n := len(r.Windows); n < 1 || n > 4 || r.Totals.Streams == 0 || r.Totals.Outcomes.Failed() > 0 {
		t.Fatalf("%d windows, %d streams, outcomes %+v", len(r.Windows), r.Totals.Streams, r.Totals.Outcomes)
	}
	for _, w := range r.Windows {
		if w.Verdict == bundle.LoadFail || w.Metrics.Scraped == 0 {
			t.Errorf("window %d: %s %s, %d scrapes", w.Index, w.Verdict, w.Message, w.Metrics.Scraped)
		}
		if w.Resources["list_entries"] != 0 || w.Resources["active"] != 0 || w.Resources["process_open_fds"] == 0 || w.Minima["process_resident_memory_bytes"] == 0 {
			t.Errorf("window %d: resources %v, minima %v", w.Index, w.Resources, w.Minima)
		}
	}
	for _, class := range []string{"deadline", "attach", "files"} {
		if n := r.Totals.Work[class]; n.Done == 0 || n.Failed > n.Late {
			t.Errorf("%s %+v", class, n)
		}
	}
	if r.Verdict != bundle.LoadInconclusive || !strings.Contains(strings.Join(r.Reasons, ""), "too short") {
		t.Errorf("%s: %v, want inconclusive because the soak is too short", r.Verdict, r.Reasons)
	}
	o.Resume = true
	if _, err := soak.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("resume of a soak that has ended: %v", err)
	}
	again, err := soak.Open(o.Out)
	if err != nil || again.Verdict != r.Verdict || len(again.Windows) != len(r.Windows) {
		t.Errorf("read back: %+v, %v", again, err)
	}
	if v, err := bundle.Verify(t.Context(), o.Out); err != nil || !v.OK || v.Kind != bundle.KindSoak {
		t.Errorf("verify: %+v, %v", v, err)
	}
}

// Faults are injected after the warm-up; what they end is no loss, and the counters still agree with the ledger.
func TestFaultsAreInjected(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"reset", "cut"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			injected(t, kind)
		})
	}
}

// injected soaks with faults of one kind.
func injected(t *testing.T, kind string) {
	t.Helper()
	o := options(t, reference(t))
	o.Duration, o.Window, o.Warmup, o.Inject = time.Hour, 3*time.Second, time.Second, []string{kind}
	ctx, stop := context.WithCancel(t.Context())
	o.Progress = &stopAfter{windows: 2, stop: stop}
	r, err := soak.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Injections {
		if f.Kind != kind || f.RecoveredMS == nil && f.Why == "" {
			t.Errorf("%+v", f)
		}
	}
	if len(r.Injections) == 0 {
		t.Errorf("%d faults in %d windows", len(r.Injections), len(r.Windows))
	}
	for _, f := range r.Findings {
		if f.Decides {
			t.Errorf("%+v", f)
		}
	}
}

// A soak that was cut off goes on in its folder; the gap is named, and a line that was not written whole is dropped.
func TestASoakIsResumed(t *testing.T) {
	t.Parallel()
	o := options(t, reference(t))
	ctx, stop := context.WithCancel(t.Context())
	o.Duration, o.Progress = time.Hour, &stopAfter{windows: 1, stop: stop}
	r, err := soak.Run(ctx, o)
	if err != nil || !r.Interrupted || len(r.Windows) < 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	had := len(r.Windows)
	file, err := os.OpenFile(filepath.Join(o.Out, bundle.WindowsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.WriteString(`{"index": 99, "from`)
	_ = file.Close()
	ctx, stop = context.WithCancel(t.Context())
	o.Resume, o.Progress = true, &stopAfter{windows: 1, stop: stop}
	other := o
	other.Load.Target.URL = "http://127.0.0.1:1"
	if _, err := soak.Run(t.Context(), other); err == nil || !strings.Contains(err.Error(), "its own URL") {
		t.Errorf("another target: %v", err)
	}
	r, err = soak.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Windows) <= had || !r.Interrupted || len(r.Gaps) != 1 || r.Windows[had-1].Index+1 != r.Windows[had].Index {
		t.Errorf("%d windows after %d, gaps %+v, interrupted %v", len(r.Windows), had, r.Gaps, r.Interrupted)
	}
}

// stopAfter interrupts a soak after some windows.
type stopAfter struct {
	windows int
	stop    func()
}

func (*stopAfter) Begin([]string, time.Duration) {}
func (*stopAfter) Tick(soak.Tick)                {}
func (*stopAfter) Event(bundle.SoakEvent)        {}
func (*stopAfter) End()                          {}

func (s *stopAfter) Window(*bundle.SoakWindow) {
	if s.windows--; s.windows == 0 {
		s.stop()
	}
}
