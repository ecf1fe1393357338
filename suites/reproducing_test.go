package suites

import (
	"testing"
	"time"
)

func TestReproducersTakeLessTimeAfterALongRunAndOnALateTarget(t *testing.T) {
	for name, tc := range map[string]struct {
		took  time.Duration
		late  bool
		scale float64
		limit int
		want  time.Duration
	}{
		"a short run":           {5 * time.Second, false, 1, 99, 15 * time.Second},
		"a longer one":          {12 * time.Second, false, 1, 99, 10 * time.Second},
		"a slow target":         {40 * time.Second, false, 1, 99, 5 * time.Second},
		"a very slow one":       {10 * time.Minute, false, 1, 99, 15 * time.Second},
		"a larger time scale":   {20 * time.Second, false, 2, 99, 24 * time.Second},
		"a late target":         {5 * time.Second, true, 1, lateScenarios, 3 * time.Second},
		"and a large timescale": {5 * time.Second, true, 4, lateScenarios, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := &session{took: tc.took, late: tc.late}
			s.opts.Reproduce, s.opts.Target.TimeScale = 99, tc.scale
			if limit, budget := s.reproducing(); limit != tc.limit || budget != tc.want {
				t.Errorf("%d failures for %v, want %d for %v", limit, budget, tc.limit, tc.want)
			}
		})
	}
}
