package load

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/target"
)

func TestStreamsTakeTurnsAmongSandboxesAlsoInParts(t *testing.T) {
	whole := &Plan{Sandboxes: make([]*target.Target, 3)}
	parts := []*Plan{{Sandboxes: whole.Sandboxes, Part: 0, Parts: 2}, {Sandboxes: whole.Sandboxes, Part: 1, Parts: 2}}
	var uses [3]int
	for n := range int64(12) {
		box := whole.Box(n)
		uses[box]++
		if got := parts[n%2].Box(n / 2); got != box {
			t.Errorf("stream %d is in sandbox %d of a part, want %d", n, got, box)
		}
	}
	if uses != [3]int{4, 4, 4} {
		t.Errorf("the sandboxes have %v streams", uses)
	}
}

func TestMissingSandboxesFailARun(t *testing.T) {
	r := &bundle.LoadReport{Sandboxes: &bundle.LoadSandboxes{
		Wanted: 9, Created: 6, Failed: 3, Failures: map[string]int64{"no_response": 1, "503": 2}, Left: []string{"a"},
	}}
	r.Streams.Outcomes[bundle.StreamOK] = 1
	conclude(r, false)
	want := []string{"3 of 9 sandboxes were not created (503: 2, no_response: 1)", "1 sandbox was not deleted: a"}
	if r.Verdict != bundle.LoadFail || !slices.Equal(r.Reasons, want) {
		t.Errorf("%s: %q", r.Verdict, r.Reasons)
	}
}

func TestADistributionOfFewValues(t *testing.T) {
	var all []time.Duration
	for ms := 100; ms > 0; ms-- {
		all = append(all, time.Duration(ms)*time.Millisecond)
	}
	want := bundle.Latency{Count: 100, P50: 50_000, P90: 90_000, P99: 99_000, P999: 100_000, Max: 100_000}
	if got := LatencyOf(all); got != want {
		t.Errorf("%+v", got)
	}
	if got := LatencyOf(nil); got != (bundle.Latency{}) {
		t.Errorf("%+v", got)
	}
}

func TestThresholdsUseSandboxesOnlyWhereThereAreSome(t *testing.T) {
	c := []Condition{{Expr: `sandboxes.ready.p99 < duration("1s") && sandboxes.created == 2`}}
	if _, err := CompileThresholds(c, Names{}); err == nil || !strings.Contains(err.Error(), "with --control-plane") {
		t.Errorf("the error is %v", err)
	}
	all, err := CompileThresholds(c, Names{Sandboxes: true})
	if err != nil {
		t.Fatal(err)
	}
	r := &bundle.LoadReport{Sandboxes: &bundle.LoadSandboxes{Created: 2, Ready: bundle.Latency{Count: 2, P99: 2_000_000}}}
	r.Latency.DriverLag.P99 = 900_000 // of the streams, and no excuse for the control plane
	if got := all.Judge(r)[0]; got.OK == nil || *got.OK {
		t.Errorf("%+v", got)
	}
}
