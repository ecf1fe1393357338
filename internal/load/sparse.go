package load

import (
	"encoding/binary"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/internal/record/bundle"
)

// sparse is a histogram in little memory: for each cell that is not empty, in ascending order,
// the distance from the cell before and the number of values, as varints. A second of a run
// takes some hundred bytes instead of 188 KB.
type sparse []byte

// sparseOf returns the values of a histogram with any range and precision.
func sparseOf(h *hdrhistogram.Histogram) sparse {
	if h.TotalCount() == 0 {
		return nil
	}
	if h.LowestTrackableValue() != lowest || h.HighestTrackableValue() != highest || h.SignificantFigures() != digits {
		ours := newHistogram()
		ours.Merge(h) // values out of our range are not ours
		h = ours
	}
	var s sparse
	last, left := 0, h.TotalCount()
	for cell, n := range h.Export().Counts { // in the order of our cells
		if n > 0 {
			s = s.with(cell-last, n)
			last = cell
			if left -= n; left == 0 {
				break // no more of the 24,000 cells have values
			}
		}
	}
	return s
}

func (s sparse) with(distance int, n int64) sparse {
	return binary.AppendUvarint(binary.AppendUvarint(s, uint64(distance)), uint64(n)) //nolint:gosec // not negative
}

// cursor is a place in a sparse histogram: a cell and its count. ok is false behind the last.
type cursor struct {
	rest sparse
	cell int
	n    int64
	ok   bool
}

// first returns the first cell.
func (s sparse) first() cursor {
	c := cursor{rest: s}
	c.next()
	return c
}

func (c *cursor) next() {
	if c.ok = len(c.rest) > 0; !c.ok {
		return
	}
	distance, a := binary.Uvarint(c.rest)
	n, b := binary.Uvarint(c.rest[a:])
	c.rest = c.rest[a+b:]
	c.cell, c.n = c.cell+int(distance), int64(n) //nolint:gosec // they were an int and an int64
}

// plus returns the values of both.
func (s sparse) plus(other sparse) sparse {
	switch {
	case len(s) == 0:
		return other
	case len(other) == 0:
		return s
	}
	out, last := make(sparse, 0, len(s)+len(other)), 0
	for a, b := s.first(), other.first(); a.ok || b.ok; {
		cell, n := a.cell, int64(0)
		if !a.ok || b.ok && b.cell < cell {
			cell = b.cell
		}
		for _, c := range []*cursor{&a, &b} {
			if c.ok && c.cell == cell {
				n += c.n
				c.next()
			}
		}
		out = out.with(cell-last, n)
		last = cell
	}
	return out
}

func (s sparse) count() (n int64) {
	for c := s.first(); c.ok; c.next() {
		n += c.n
	}
	return n
}

// at returns the values at ascending quantiles, as quantile does, in microseconds.
func (s sparse) at(quantiles ...float64) []int64 {
	out := make([]int64, 0, len(quantiles))
	n, seen := s.count(), int64(0)
	for c := s.first(); c.ok; c.next() {
		seen += c.n
		for len(out) < len(quantiles) && rankOf(quantiles[len(out)], n) <= seen {
			out = append(out, valueOf(c.cell+1)-1)
		}
	}
	return out
}

// latency returns the distribution, as latencyOf does.
func (s sparse) latency() bundle.Latency {
	if len(s) == 0 {
		return bundle.Latency{}
	}
	v := s.at(0.5, 0.9, 0.99, 0.999, 1)
	return bundle.Latency{Count: s.count(), P50: v[0], P90: v[1], P99: v[2], P999: v[3], Max: v[4]}
}

// The quantiles of a curve. From 0.9 on there are four for each further digit, down to the
// share of a single value among 10¹¹: in all at most 60.
var (
	body = []float64{0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85}
	tail = []float64{100, 75, 50, 25}
)

const tailDigits = 11

// curve returns the percentile curve: points up to the largest value, of quantile 1.
func (s sparse) curve() []bundle.LoadPoint {
	n := s.count()
	if n == 0 {
		return nil
	}
	quantiles := append([]float64{}, body...)
	for digit, whole := 0, 1000.0; digit < tailDigits; digit, whole = digit+1, whole*10 {
		for _, rest := range tail {
			quantiles = append(quantiles, (whole-rest)/whole)
		}
	}
	for i, q := range quantiles {
		if rankOf(q, n) == n && q > 0 {
			quantiles = quantiles[:i]
			break
		}
	}
	quantiles = append(quantiles, 1)
	points := make([]bundle.LoadPoint, len(quantiles))
	for i, v := range s.at(quantiles...) {
		points[i] = bundle.LoadPoint{Quantile: quantiles[i], Value: v}
	}
	return points
}

// curvesOf returns the curves of all streams and of the classes with these names. of returns
// the values of a metric, of a class or of all streams for ""; without values there is no curve.
func curvesOf(classes []string, of func(m Metric, class string) sparse) (out []bundle.LoadCurve) {
	for m := range Metric(numMetrics) {
		for i, class := range append([]string{""}, classes...) {
			if i > 0 && !m.ofStreams() {
				continue
			}
			if points := of(m, class).curve(); points != nil {
				out = append(out, bundle.LoadCurve{Metric: bundle.LoadSeries{Metric: m.String(), Class: class}.String(), Points: points})
			}
		}
	}
	return out
}
