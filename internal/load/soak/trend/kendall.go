package trend

import (
	"math"
	"slices"
)

// kendall is the test of a trend by Mann and Kendall.
type kendall struct {
	s        float64 // pairs that rise, less pairs that fall
	variance float64 // of s without a trend
	slope    float64 // median of the slopes of all pairs, per unit of x
	slopes   []float64
}

// newKendall tests y over x, which rises. rest is what its shape does not explain.
func newKendall(x, y, rest []float64) kendall {
	var k kendall
	n := len(y)
	k.slopes = make([]float64, 0, n*(n-1)/2)
	for i := range n {
		for j := i + 1; j < n; j++ {
			k.s += sign(y[j] - y[i])
			k.slopes = append(k.slopes, (y[j]-y[i])/(x[j]-x[i]))
		}
	}
	slices.Sort(k.slopes)
	k.slope = middle(k.slopes)
	k.variance = varianceOf(y) * inflation(rest)
	return k
}

// varianceOf returns the variance of Kendall's S for independent values with the ties of y.
func varianceOf(y []float64) float64 {
	f := func(n int) float64 { v := float64(n); return v * (v - 1) * (2*v + 5) }
	v := f(len(y))
	sorted := slices.Sorted(slices.Values(y))
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		v -= f(j - i)
		i = j
	}
	return v / 18
}

// inflation returns the factor by which dependence between neighbours raises the variance of S, by Hamed and Rao
// (1998): from the correlations of the ranks of what the shape does not explain. Only positive correlations that
// are significant count, and the factor is at least 1.
func inflation(rest []float64) float64 {
	n := len(rest)
	r := ranks(rest)
	mean, all := float64(n+1)/2, 0.0
	for _, v := range r {
		all += (v - mean) * (v - mean)
	}
	if all == 0 {
		return 1
	}
	sum, size := 0.0, float64(n)
	for lag := 1; lag < n/3; lag++ {
		var c float64
		for i := 0; i+lag < n; i++ {
			c += (r[i] - mean) * (r[i+lag] - mean)
		}
		c /= all
		if c < 1.645/math.Sqrt(size) {
			break
		}
		m := size - float64(lag)
		sum += m * (m - 1) * (m - 2) * c
	}
	return 1 + 2/(size*(size-1)*(size-2))*sum
}

// ranks returns the ranks from 1; equal values have their mean rank.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(sign(values[a] - values[b])) })
	out := make([]float64, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for _, at := range order[i:j] {
			out[at] = float64(i+j+1) / 2
		}
		i = j
	}
	return out
}

// bounds returns the bounds of the slope: each holds with the probability 1 - alpha.
func (k *kendall) bounds(alpha float64) (low, high float64) {
	n := float64(len(k.slopes))
	c := quantile(1-alpha) * math.Sqrt(k.variance)
	at := func(i float64) float64 { return k.slopes[int(min(max(i, 0), n-1))] }
	return at(math.Floor((n-c)/2) - 1), at(math.Ceil((n + c) / 2))
}

// rises returns the probability of a trend as strong as this one without any.
func (k *kendall) rises() float64 {
	if k.variance <= 0 || k.s <= 0 {
		return 1
	}
	return math.Erfc((k.s-1)/math.Sqrt(2*k.variance)) / 2
}

// outranks returns the probability, by Mann and Whitney, that the values of late lie so far above those of early
// without a difference.
func outranks(early, late []float64) float64 {
	n, m := float64(len(early)), float64(len(late))
	r := ranks(slices.Concat(early, late))
	sum := 0.0
	for _, v := range r[len(early):] {
		sum += v
	}
	u := sum - m*(m+1)/2
	sd := math.Sqrt(n * m * (n + m + 1) / 12)
	return math.Erfc((u-n*m/2-0.5)/(sd*math.Sqrt2)) / 2
}

// quantile returns the quantile of the normal distribution.
func quantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// middle returns the median of sorted values.
func middle(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// median returns the median.
func median(values []float64) float64 { return middle(slices.Sorted(slices.Values(values))) }

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}
