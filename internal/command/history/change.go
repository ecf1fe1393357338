package history

import (
	"math"
	"math/rand/v2"
	"slices"
)

// The bounds of a change point.
const (
	leastSegment = 3    // runs on each side
	permutations = 999  // of the test
	significant  = 0.01 // the probability of such a change by chance
	leastEffect  = 0.1  // of the median before
)

// point is a change of a series.
type point struct {
	at            int // the index of the first value after it
	before, after float64
	p             float64
}

// points returns the change points of a series, in order: by E-divisive (Matteson and James, 2014), with a permutation
// test, as Hunter and Apache Otava use it. The permutations have a fixed seed, so that the same runs have the same
// changes. A change counts if the median moves by at least a tenth.
func points(values []float64) []point {
	var out []point
	var split func(from, to int)
	split = func(from, to int) {
		at, q := best(values[from:to])
		if at == 0 {
			return
		}
		p := chance(values[from:to], q)
		if p > significant {
			return
		}
		at += from
		split(from, at)
		out = append(out, point{at: at, p: p})
		split(at, to)
	}
	split(0, len(values))
	return measured(values, out)
}

// measured sets the medians around the points, and drops those without an effect.
func measured(values []float64, all []point) []point {
	for i := 0; i < len(all); {
		from, to := 0, len(values)
		if i > 0 {
			from = all[i-1].at
		}
		if i+1 < len(all) {
			to = all[i+1].at
		}
		p := &all[i]
		p.before, p.after = median(values[from:p.at]), median(values[p.at:to])
		if math.Abs(p.after-p.before) < leastEffect*math.Abs(p.before) || p.after == p.before {
			all, i = slices.Delete(all, i, i+1), 0
			continue
		}
		i++
	}
	return all
}

// best returns the split with the largest divergence between both sides; 0 if the values are too few.
func best(values []float64) (at int, q float64) {
	for k := leastSegment; k <= len(values)-leastSegment; k++ {
		if d := divergence(values, k); d > q {
			at, q = k, d
		}
	}
	return at, q
}

// divergence returns the energy distance between the values before k and those from k on, weighted by their numbers.
func divergence(values []float64, k int) float64 {
	n, m := float64(k), float64(len(values)-k)
	var across, left, right float64
	for i, a := range values {
		for j, b := range values[:i] {
			d := math.Abs(a - b)
			switch {
			case i < k:
				left += d
			case j >= k:
				right += d
			default:
				across += d
			}
		}
	}
	return n * m / (n + m) * (2*across/(n*m) - 2*left/(n*(n-1)) - 2*right/(m*(m-1)))
}

// chance returns the probability of a divergence of at least q if the order of the values means nothing.
func chance(values []float64, q float64) float64 {
	shuffled := slices.Clone(values)
	draw := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same for the same runs
	more := 0
	for range permutations {
		draw.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if _, d := best(shuffled); d >= q {
			more++
		}
	}
	return float64(more+1) / (permutations + 1)
}
