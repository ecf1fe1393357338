package load

import (
	"testing"
	"time"
)

func TestPacersGiveIntendedStarts(t *testing.T) {
	tests := map[string]struct {
		pacer Pacer
		want  map[int]time.Duration
	}{
		"a rate spaces streams evenly":             {RatePacer{Rate: 10}, map[int]time.Duration{0: 0, 1: 100 * time.Millisecond, 25: 2500 * time.Millisecond}},
		"a ramp halves what starts while it lasts": {RatePacer{Rate: 10, Ramp: 2 * time.Second}, map[int]time.Duration{0: 0, 10: 2 * time.Second, 20: 3 * time.Second}},
		"no ramp begins all at once":               {RampPacer{N: 3}, map[int]time.Duration{0: 0, 2: 0}},
		"a ramp begins them evenly":                {RampPacer{N: 4, Ramp: time.Second}, map[int]time.Duration{0: 0, 1: 250 * time.Millisecond, 3: 750 * time.Millisecond}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for n, want := range tt.want {
				if got, ok := tt.pacer.At(n); !ok || (got-want).Abs() > time.Microsecond {
					t.Errorf("At(%d) = %v, %v; want %v", n, got, ok, want)
				}
			}
		})
	}
	if at, ok := (RampPacer{N: 3}).At(3); ok {
		t.Errorf("there is a fourth of three streams, at %v", at)
	}
}

func TestBeforeIsTheInverseOfAt(t *testing.T) {
	for name, p := range map[string]Pacer{
		"a rate": RatePacer{Rate: 333}, "a rate with a ramp": RatePacer{Rate: 100, Ramp: 700 * time.Millisecond},
		"one in ten thousand years": RatePacer{Rate: 3e-12}, "almost none": RatePacer{Rate: 1e-300, Ramp: time.Hour},
		"a slow rate": RatePacer{Rate: 0.5, Ramp: 3 * time.Second}, "a ramp": RampPacer{N: 77, Ramp: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for d := time.Duration(1); d < 5*time.Second; d += 37 * time.Millisecond {
				n := p.Before(d)
				if n > 0 {
					if at, ok := p.At(n - 1); !ok || at >= d {
						t.Fatalf("Before(%v) = %d, but stream %d starts at %v", d, n, n-1, at)
					}
				}
				if at, ok := p.At(n); ok && at < d {
					t.Fatalf("Before(%v) = %d, but stream %d starts at %v", d, n, n, at)
				}
			}
		})
	}
}
