package engine

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// golden is the fractional part of the golden ratio: adding it repeatedly, modulo one,
// spreads values over the unit interval with low discrepancy.
const golden = 0.6180339887498949

// sweep plans which values the swept variables of an instance have in each iteration.
// It depends only on the seed, the instance and its calibration.
type sweep struct {
	names  []string
	ranges map[string][2]time.Duration
	order  map[string][]int // the strata of the planned iterations
	phase  map[string]float64
}

// newSweep plans n iterations: it cuts the range into n equal strata, and each
// iteration has the middle of one, in an order that the seed shuffles, so that the
// planned iterations are spread evenly and several variables are not in step.
// Iterations beyond the plan follow the golden ratio.
func newSweep(ranges map[string]scenarios.Range, n int, seed uint64, cal bundle.Calibration) *sweep {
	s := &sweep{
		names:  sortedKeys(ranges),
		ranges: make(map[string][2]time.Duration, len(ranges)),
		order:  make(map[string][]int, len(ranges)),
		phase:  make(map[string]float64, len(ranges)),
	}
	for _, name := range s.names {
		r := ranges[name]
		s.ranges[name] = [2]time.Duration{r.From.Resolve(cal), r.To.Resolve(cal)}
		rng := rand.New(rand.NewPCG(seed, hash(name)))
		s.order[name] = rng.Perm(max(1, n))
		s.phase[name] = rng.Float64()
	}
	return s
}

// at returns the value of each variable in an iteration; nil when nothing is swept.
func (s *sweep) at(index int) map[string]time.Duration {
	if len(s.names) == 0 {
		return nil
	}
	values := make(map[string]time.Duration, len(s.names))
	for _, name := range s.names {
		r := s.ranges[name]
		values[name] = r[0] + time.Duration(s.place(name, index)*float64(r[1]-r[0]))
	}
	return values
}

// place returns the position of an iteration in the range, from 0 to 1.
func (s *sweep) place(name string, index int) float64 {
	order := s.order[name]
	if index < len(order) {
		return (float64(order[index]) + 0.5) / float64(len(order))
	}
	_, fraction := math.Modf(s.phase[name] + golden*float64(index))
	return fraction
}

// hash returns a hash of names, to derive one seed from another.
func hash(names ...string) uint64 {
	h := fnv.New64a()
	for _, name := range names {
		_, _ = h.Write([]byte(name)) // never fails
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}
