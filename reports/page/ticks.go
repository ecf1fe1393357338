package page

import (
	"fmt"
	"math"
	"strconv"
)

// nice are the digits at which ticks stand.
var nice = []float64{1, 2, 5, 10}

// floorNice returns the largest number of the form 1, 2 or 5 times a power of ten that is
// at most v.
func floorNice(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for i := len(nice) - 1; i >= 0; i-- {
		if nice[i]*power <= v*(1+1e-9) {
			return nice[i] * power
		}
	}
	return power
}

// ceilNice returns the smallest such number that is at least v.
func ceilNice(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range nice {
		if n*power >= v*(1-1e-9) {
			return n * power
		}
	}
	return 10 * power
}

// ticks returns the labelled places of an axis, about as many as wanted.
func (a Axis) ticks(s span, wanted int) []Tick {
	if len(a.Ticks) > 0 {
		var out []Tick
		for _, t := range a.Ticks {
			if at := s.at(t.At, a.Log); at >= -1e-9 && at <= 1+1e-9 {
				out = append(out, t)
			}
		}
		return out
	}
	if a.Log {
		return a.logTicks(s, wanted)
	}
	step := ceilNice((s.high - s.low) / float64(wanted))
	var out []Tick
	for i := math.Ceil(s.low / step); i*step <= s.high*(1+1e-9) && len(out) < 2*wanted+2; i++ {
		out = append(out, Tick{i * step, a.Unit.Format(i * step)})
	}
	return out
}

// logTicks returns powers of ten, with 2 and 5 times them if there is room.
func (a Axis) logTicks(s span, wanted int) []Tick {
	decades := math.Log10(s.high / s.low)
	digits := nice[:3]
	if decades*3 > float64(wanted)*1.5 {
		digits = nice[:1]
	}
	every := math.Max(1, math.Ceil(decades/float64(wanted)))
	var out []Tick
	for e := math.Floor(math.Log10(s.low)); e <= math.Ceil(math.Log10(s.high)) && len(out) < 64; e += every {
		for _, d := range digits {
			v := d * math.Pow(10, e)
			if v >= s.low*(1-1e-9) && v <= s.high*(1+1e-9) {
				out = append(out, Tick{v, a.Unit.Format(v)})
			}
		}
	}
	return out
}

// Format returns a value with its unit, in a few characters.
func (u Unit) Format(v float64) string {
	abs := math.Abs(v)
	switch {
	case u == UnitMicros && abs < 1e3:
		return short(v) + " µs"
	case u == UnitMicros && abs < 1e6:
		return short(v/1e3) + " ms"
	case u == UnitMicros:
		return short(v/1e6) + " s"
	case abs >= 1e6:
		return short(v/1e6) + " M"
	case abs >= 1e4:
		return short(v/1e3) + " k"
	}
	return short(v)
}

// short returns at most four digits.
func short(v float64) string {
	if math.Abs(v) >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
