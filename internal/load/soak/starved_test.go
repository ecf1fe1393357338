package soak

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"assay/internal/record/bundle"
)

func failing(change func(w *bundle.SoakWindow)) *bundle.SoakWindow {
	w := &bundle.SoakWindow{Index: 3, Verdict: bundle.LoadFail, Message: "2 of 40 streams failed"}
	w.Streams.Completed, w.Streams.Outcomes[bundle.StreamStall] = 40, 2
	w.Latency.DriverLag.Max = 3_000_000
	change(w)
	return w
}

// A machine that gave the driver no time may have given the target none.
func TestABusyMachineIsNotTheTarget(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *bundle.SoakWindow)
		want   bundle.LoadVerdict
	}{
		"the driver was late": {func(*bundle.SoakWindow) {}, bundle.LoadInconclusive},
		"streams began late": {func(w *bundle.SoakWindow) {
			w.Latency.DriverLag.Max, w.Latency.StartLag.Max = 0, 1_500_000
		}, bundle.LoadInconclusive},
		"the driver was in time": {func(w *bundle.SoakWindow) { w.Latency.DriverLag.Max = 400_000 }, bundle.LoadFail},
		"a stream was corrupt":   {func(w *bundle.SoakWindow) { w.Streams.Outcomes[bundle.StreamCorrupt] = 1 }, bundle.LoadFail},
		"a counter is wrong": {func(w *bundle.SoakWindow) {
			w.Metrics = bundle.LoadMetrics{Violations: []string{"ok moved by 1"}, After: &bundle.LoadCounters{}}
		}, bundle.LoadFail},
		"the last scrape had no answer": {func(w *bundle.SoakWindow) {
			w.Metrics = bundle.LoadMetrics{Violations: []string{"after: the scrape failed"}}
		}, bundle.LoadInconclusive},
		"work was late": {func(w *bundle.SoakWindow) {
			w.Work = map[string]bundle.SoakWork{workFiles: {Failed: 2, Late: 2}}
		}, bundle.LoadInconclusive},
		"work was wrong": {func(w *bundle.SoakWindow) {
			w.Work = map[string]bundle.SoakWork{workFiles: {Failed: 2, Late: 1}}
		}, bundle.LoadFail},
	} {
		w := failing(c.change)
		if doubtStarved(w); w.Verdict != c.want {
			t.Errorf("%s: %s, want %s", name, w.Verdict, c.want)
		}
		if c.want == bundle.LoadInconclusive && !strings.Contains(w.Message, "too busy to blame the target: 2 of 40 streams failed") {
			t.Errorf("%s: %q", name, w.Message)
		}
	}
}

func TestWorkThatIsLate(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("%w: 9s", errLate): true,
		fmt.Errorf("input: %w", connect.NewError(connect.CodeDeadlineExceeded, context.DeadlineExceeded)): true,
		context.DeadlineExceeded:                                 true,
		errors.New("HTTP 500"):                                   false,
		connect.NewError(connect.CodeInternal, errors.New("no")): false,
	} {
		if late(err) != want {
			t.Errorf("%v: %v, want %v", err, !want, want)
		}
	}
}

// A soak that ended before its first whole window has judged nothing.
func TestASoakOfOneCutWindowProvesNothing(t *testing.T) {
	r := &bundle.SoakReport{Interrupted: true, Windows: []bundle.SoakWindow{{Index: 1, ToMS: 2000, Warmup: true, Partial: true, Verdict: bundle.LoadPass}}}
	Conclude(r)
	if r.Verdict != bundle.LoadInconclusive || len(r.Reasons) != 1 || !strings.HasPrefix(r.Reasons[0], "too short") {
		t.Errorf("%s: %q", r.Verdict, r.Reasons)
	}
}

// Only windows that fail count: in one that is in doubt, neither streams nor counters are findings.
func TestADoubtedWindowIsNoFinding(t *testing.T) {
	w := failing(func(w *bundle.SoakWindow) {
		w.ToMS = 60_000
		w.Metrics = bundle.LoadMetrics{Violations: []string{"after: the scrape failed"}}
	})
	doubtStarved(w)
	r := &bundle.SoakReport{Windows: []bundle.SoakWindow{*w}}
	Conclude(r)
	if r.Verdict != bundle.LoadInconclusive {
		t.Errorf("%s: %q, findings %+v", r.Verdict, r.Reasons, r.Findings)
	}
}
