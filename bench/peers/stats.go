//go:build linux

package main

import (
	"cmp"
	"fmt"
	"slices"
)

// sample holds one figure of several runs.
type sample []float64

// median returns the median, 0 for an empty sample.
func (s sample) median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// String returns the median with the smallest and the largest: "1.20 (1.10–1.30)".
func (s sample) String() string {
	if len(s) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.median(), slices.Min(s), slices.Max(s))
}

// target is an upper bound of a figure: Most times another figure, or Most itself
// when there is no other.
type target struct {
	What     string
	Got      float64
	Against  float64 // 0: Most is absolute
	Most     float64
	Unit     string
	Peer     string
	Missing  bool // one of the figures is unknown
	Relative bool
}

// verdict says whether the target is met, or by how much it is missed.
func (t target) verdict() string {
	value := t.Got
	if t.Relative {
		if t.Missing || t.Against == 0 {
			return "unknown: " + cmp.Or(t.Peer, "a figure") + " is missing"
		}
		value = t.Got / t.Against
	} else if t.Missing {
		return "unknown: a figure is missing"
	}
	if value <= t.Most {
		return "met"
	}
	return fmt.Sprintf("missed by %.0f %%", (value/t.Most-1)*100)
}

// row formats the target as a table row.
func (t target) row() string {
	aim, got := fmt.Sprintf("≤ %.3g %s", t.Most, t.Unit), fmt.Sprintf("%.3g %s", t.Got, t.Unit)
	if t.Relative {
		aim, got = fmt.Sprintf("≤ %.2f × %s", t.Most, t.Peer), "–"
		if !t.Missing && t.Against > 0 {
			got = fmt.Sprintf("%.2f", t.Got/t.Against)
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", t.What, aim, got, t.verdict())
}

// slope returns the change of y per x, by least squares.
func slope(x, y []float64) float64 {
	var mx, my float64
	for i := range x {
		mx += x[i] / float64(len(x))
		my += y[i] / float64(len(x))
	}
	var over, under float64
	for i := range x {
		over += (x[i] - mx) * (y[i] - my)
		under += (x[i] - mx) * (x[i] - mx)
	}
	if under == 0 {
		return 0
	}
	return over / under
}
