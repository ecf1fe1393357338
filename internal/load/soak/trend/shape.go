package trend

import "math"

// shape is what a series looks like, by least squares.
type shape struct {
	// began is the point from which the values rise; from and to bound it with a probability of 95 %.
	began, from, to int
	// over is set if a rise has ended: a jump, or a growth to a level that stays. It ended at the point end, and
	// its size is size.
	over bool
	end  int
	size float64
	// rest is what the best of the shapes does not explain.
	rest []float64
}

// leastPlateau is the number of windows for which a level must stay before a rise is called ended; it is also a
// fifth of all windows.
const leastPlateau = 4

// shapeOf compares a level that begins to rise with a rise that ends in a level, and with a jump. All three
// have three parameters, so that their squared errors can be compared.
func shapeOf(x, y []float64) shape {
	n := len(y)
	squares := make([]float64, n-2)
	best := 0
	for k := range squares {
		squares[k] = square(hinge(x, y, k, true))
		if squares[k] < squares[best] {
			best = k
		}
	}
	s := shape{began: best, from: best, to: best, rest: hinge(x, y, best, true)}
	for k, e := range squares {
		// The ratio of likelihoods: 3.84 is the quantile of chi-squared for 95 %.
		if float64(n)*math.Log((e+tiny)/(squares[best]+tiny)) <= 3.84 {
			s.from, s.to = min(s.from, k), max(s.to, k)
		}
	}
	least := squares[best]
	plateau := max(leastPlateau, n/5)
	for k := 2; k <= n-plateau; k++ {
		for _, c := range []struct {
			rest []float64
			size float64
		}{{hinge(x, y, k, false), mean(y[k:]) - y[0]}, {jump(y, k), mean(y[k:]) - mean(y[:k])}} {
			if e := square(c.rest); e < least {
				least, s.end, s.size, s.rest = e, k, c.size, c.rest
			}
		}
	}
	s.over = least+tiny < endedPart*(squares[best]+tiny)
	return s
}

// A rise has ended if that explains the values clearly better: with less than endedPart of the squared error.
const (
	endedPart = 0.75
	tiny      = 1e-9
)

// hinge returns what is not explained by a level up to the point k with a rise from there or, if not rising, by
// a rise up to k with a level from there.
func hinge(x, y []float64, k int, rising bool) []float64 {
	var sx, sy, sxx, sxy float64
	n := float64(len(y))
	at := func(i int) float64 {
		if rising {
			return max(x[i]-x[k], 0)
		}
		return min(x[i]-x[k], 0)
	}
	for i := range y {
		h := at(i)
		sx, sy, sxx, sxy = sx+h, sy+y[i], sxx+h*h, sxy+h*y[i]
	}
	slope := 0.0
	if d := n*sxx - sx*sx; d > 0 {
		slope = max((n*sxy-sx*sy)/d, 0)
	}
	level := (sy - slope*sx) / n
	rest := make([]float64, len(y))
	for i := range y {
		rest[i] = y[i] - level - slope*at(i)
	}
	return rest
}

// jump returns what is not explained by one level up to the point k and another from there.
func jump(y []float64, k int) []float64 {
	before, after := mean(y[:k]), mean(y[k:])
	rest := make([]float64, len(y))
	for i := range y {
		rest[i] = y[i] - after
		if i < k {
			rest[i] = y[i] - before
		}
	}
	return rest
}

func mean(y []float64) float64 {
	sum := 0.0
	for _, v := range y {
		sum += v
	}
	return sum / float64(len(y))
}

// square returns the sum of the squares.
func square(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v * v
	}
	return sum
}
