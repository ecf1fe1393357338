package engine

import (
	"testing"
	"time"

	"assay/scenarios"
)

func TestTheTimeForAllIterationsGrowsWithTheirNumber(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		again  int
		scale  float64
		want   time.Duration
	}{
		"once":                             {"deadline: 1s\nrepeat: {budget: 5s}", 1, 1, 17 * time.Second},
		"several times":                    {"deadline: 1s\nrepeat: {times: 3, budget: 5s}", 10, 1, 125 * time.Second},
		"the longest span most often":      {"deadline: 1000h", 10000, 1, mostWhole},
		"on the slowest target":            {"deadline: 1000h\nrepeat: {budget: 1000h}", 10000, 1000, mostWhole},
		"the default deadline most slowly": {"slow: 1000h", 10000, 1000, mostWhole},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "http://127.0.0.1:1")
			b.options.Run.Calibration.TimeScale = tc.scale
			s := parse(t, "id: test.one\n"+tc.script+"\nsteps: [{list: {as: l}}]")
			in := newInstance(newEnv(b.options), scenarios.Instance{Scenario: s})
			in.again = tc.again
			if got := newRepeater(in).whole; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
