package diff

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"assay/internal/record/bundle"
)

// family is the probability of any false difference among all comparisons of a kind,
// which share it (Bonferroni).
const family = 0.05

// pair is two samples of the same duration, in microseconds.
type pair struct {
	name, of, each string
	a, b           []float64
}

// compareAll compares the pairs of one kind.
func compareAll(pairs []pair, o Options) []bundle.LatencyChange {
	n := 0
	for _, p := range pairs {
		if len(p.a) > 0 && len(p.b) > 0 {
			n++
		}
	}
	alpha := family / float64(max(n, 1))
	var all []bundle.LatencyChange
	for _, p := range pairs {
		all = append(all, compare(p, alpha, o))
	}
	return all
}

// compare compares two samples without assuming a distribution: latencies are neither
// normal nor of equal variance.
func compare(p pair, alpha float64, o Options) bundle.LatencyChange {
	c := bundle.LatencyChange{Name: p.name, Of: p.of, Each: p.each, Alpha: alpha, P: 1, A: sample(p.a), B: sample(p.b)}
	if len(p.a) == 0 || len(p.b) == 0 {
		c.Result = bundle.LatencyMissing
		return c
	}
	if c.A.Median > 0 {
		c.Change = c.B.Median/c.A.Median - 1
	}
	if least := needed(alpha); smallestP(len(p.a), len(p.b)) > alpha {
		c.Result, c.Needed = bundle.LatencyTooFew, least
		return c
	}
	limits := &benchmath.Thresholds{CompareAlpha: alpha}
	test := benchmath.AssumeNothing.Compare(
		benchmath.NewSample(slices.Clone(p.a), limits), benchmath.NewSample(slices.Clone(p.b), limits))
	c.P = test.P
	switch {
	case test.P >= alpha || c.A.Median == c.B.Median:
		c.Result = bundle.LatencySame
	case c.B.Median > c.A.Median:
		c.Result = bundle.LatencySlower
		c.Regression = o.Threshold > 0 && c.Change > o.Threshold
	default:
		c.Result = bundle.LatencyFaster
	}
	return c
}

// sample returns the median of values with its bounds at 95 % confidence.
func sample(values []float64) bundle.LatencySample {
	s := bundle.LatencySample{Samples: len(values)}
	if len(values) == 0 {
		return s
	}
	sum := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), 0.95)
	s.Median = sum.Center
	if !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0) {
		s.Low, s.High = sum.Lo, sum.Hi
	}
	return s
}

// smallestP returns the smallest possible P of the test: 2 / C(n+m, n), for samples of n
// and m that do not overlap.
func smallestP(n, m int) float64 {
	ways := 1.0
	for i := 1; i <= n && ways < 1e12; i++ {
		ways *= float64(m+i) / float64(i)
	}
	return min(1, 2/ways)
}

// needed returns the number of samples per side from which a difference can be significant.
func needed(alpha float64) int {
	n := 2
	for smallestP(n, n) > alpha {
		n++
	}
	return n
}

// median returns the median of values in any order; values must not be empty.
func median(values []float64) float64 {
	s := slices.SortedFunc(slices.Values(values), cmp.Compare[float64])
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
