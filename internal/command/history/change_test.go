package history

import (
	"math/rand/v2"
	"testing"
)

// Noise has a change in about one series of a hundred.
func TestNoiseHasNoChange(t *testing.T) {
	found := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
		values := make([]float64, 30)
		for i := range values {
			values[i] = 100 * (1 + 0.3*r.NormFloat64())
		}
		if len(points(values)) > 0 {
			found++
		}
	}
	if found > 4 {
		t.Errorf("%d of 100 series of noise have a change", found)
	}
}

func TestChangesAreFoundWhereTheyAre(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // a test
	values := make([]float64, 40)
	for i := range values {
		level := 100.0
		switch {
		case i >= 28:
			level = 90
		case i >= 12:
			level = 150
		}
		values[i] = level * (1 + 0.02*r.NormFloat64())
	}
	got := points(values)
	if len(got) != 2 || got[0].at != 12 || got[1].at != 28 {
		t.Errorf("%+v, want changes at 12 and 28", got)
	}
	for _, few := range [][]float64{nil, {1}, {1, 2, 3, 4, 5}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}} {
		if got := points(few); len(got) != 0 {
			t.Errorf("%v: %+v", few, got)
		}
	}
}
