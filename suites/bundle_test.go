package suites

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/bundle"
	"assay/internal/judge"
	"assay/internal/target"
	"assay/internal/testkit"
	"assay/scenarios"
)

// The catalogue, judged from the stored bundle, has the same verdicts as live.
func TestStoredBundleGivesTheLiveVerdicts(t *testing.T) {
	dir := t.TempDir()
	out, err := Run(t.Context(), Options{Out: dir, Seed: 1, Select: smoke(), Target: target.Options{TimeScale: testkit.Slowdown}})
	if err != nil {
		t.Fatal(err)
	}
	if out.Report.Verdict != bundle.Conformant {
		t.Errorf("the reference gateway is %s", out.Report.Verdict)
	}
	b, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Partial) > 0 {
		t.Errorf("the bundle is partial: %v", b.Partial)
	}
	v, err := bundle.Verify(t.Context(), dir)
	if err != nil || !v.OK {
		t.Errorf("the bundle does not verify: %v %+v", err, v)
	}
	rules, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := scenarios.LoadProfile(b.Run.Profile)
	if err != nil {
		t.Fatal(err)
	}
	j := &judge.Judge{Rules: rules, Profile: profile}
	verdicts, report, err := j.Bundle(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(out.Verdicts, verdicts); diff != "" {
		t.Errorf("stored and live verdicts differ (-live +stored):\n%s", diff)
	}
	if diff := cmp.Diff(out.Report, report); diff != "" {
		t.Errorf("stored and live reports differ (-live +stored):\n%s", diff)
	}
}

// smoke limits a short run to a few areas; a long one runs the whole catalogue.
func smoke() string {
	if testing.Short() {
		return "area:connect-unary,area:connect-request,area:process-exit,area:process-signal,area:coppice"
	}
	return ""
}
