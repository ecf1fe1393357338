package suites

import (
	"testing"
	"time"

	"assay/internal/record/bundle"
)

// BenchmarkCatalogue runs the whole catalogue against the embedded gateway.
// `longest-x` is the wall time divided by the time of the longest single scenario: the
// limit is 1.3, or 4 s, whichever is more.
func BenchmarkCatalogue(b *testing.B) {
	for b.Loop() {
		began := time.Now()
		out, err := Run(b.Context(), Options{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		wall := time.Since(began)
		if out.Report.Verdict != bundle.Conformant {
			b.Fatalf("verdict %s: %v", out.Report.Verdict, out.Report.Counts)
		}
		var longest *bundle.Observation
		for _, o := range out.Observations {
			if longest == nil || took(o) > took(longest) {
				longest = o
			}
		}
		b.ReportMetric(wall.Seconds(), "wall-s")
		b.ReportMetric(wall.Seconds()/took(longest).Seconds(), "longest-x")
		b.Logf("%d instances in %v; longest: %s in %v", len(out.Observations), wall, longest.Scenario, took(longest))
	}
}

func took(o *bundle.Observation) time.Duration { return time.Duration(o.Ended.T - o.Started.T) }
