package suites

import (
	"testing"
	"time"
)

func TestReproducersTakeLessTimeAfterALongRun(t *testing.T) {
	for name, tc := range map[string]struct {
		took  time.Duration
		scale float64
		want  time.Duration
	}{
		"a short run":         {5 * time.Second, 1, 15 * time.Second},
		"a longer one":        {12 * time.Second, 1, 10 * time.Second},
		"a slow target":       {40 * time.Second, 1, 5 * time.Second},
		"a very slow one":     {10 * time.Minute, 1, 15 * time.Second},
		"a larger time scale": {20 * time.Second, 2, 24 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := &session{took: tc.took}
			s.opts.Target.TimeScale = tc.scale
			if budget := s.reproducing(); budget != tc.want {
				t.Errorf("%v, want %v", budget, tc.want)
			}
		})
	}
}
