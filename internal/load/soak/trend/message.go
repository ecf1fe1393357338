package trend

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"assay/internal/record/bundle"
)

// message returns the verdict in one sentence.
func (m *measured) message(r *bundle.SoakSeries) string {
	switch {
	case r.Verdict == Drifts:
		return fmt.Sprintf("%s rises by %s in %v (%s to %s with %s), from %s to %s, since %s",
			r.Name, m.rate(r.Slope), round(m.span()), m.rate(m.low), m.rate(m.high), sure(1-m.alpha), m.amount(m.first()), m.amount(m.first()+r.Change), m.since(r))
	case r.Verdict == Leaks:
		return fmt.Sprintf("%s rises by %s an hour (%s to %s with %s), %s per 1,000 operations, since %s",
			r.Name, m.amount(r.Slope), m.amount(m.low), m.amount(m.high), sure(1-m.alpha), m.amount(r.PerOps), m.since(r))
	case r.Verdict == Inconclusive:
		return r.Name + ": " + r.Reason
	case r.StepMS != nil:
		return fmt.Sprintf("%s rose by %s until %s and then stayed", r.Name, m.amount(r.StepSize), clock(*r.StepMS))
	}
	text := fmt.Sprintf("%s is steady: %s would have shown a rise of %s %s", r.Name, windows(r.N), m.rate(r.Detectable), m.per())
	if r.NeedWindows > 0 {
		text += fmt.Sprintf("; a rise of %s needs %s", m.rate(r.NeedChange), windows(r.NeedWindows))
	}
	return text
}

func (m *measured) first() float64 {
	first, _ := m.ends()
	return first
}

// since returns when a rise began.
func (m *measured) since(r *bundle.SoakSeries) string {
	if r.BeganFromMS == r.BeganToMS {
		return clock(*r.BeganMS)
	}
	return fmt.Sprintf("%s (%s to %s)", clock(*r.BeganMS), clock(r.BeganFromMS), clock(r.BeganToMS))
}

// amount returns a value with its unit.
func (m *measured) amount(v float64) string { return Amount(v, m.series.Unit) }

// rate returns a slope with its unit: of a latency the rise over all windows, as a percentage.
func (m *measured) rate(v float64) string {
	if m.series.Kind == Latency {
		return percent(v * m.hours)
	}
	return m.amount(v)
}

// per says over which time rate is.
func (m *measured) per() string {
	if m.series.Kind == Latency {
		return "in " + round(m.span()).String()
	}
	return "an hour"
}

// Amount returns a value with its unit: bytes, us, or "" for a number of things.
func Amount(v float64, unit string) string {
	switch unit {
	case "bytes":
		return bytes(v)
	case "us":
		return round(time.Duration(v * float64(time.Microsecond))).String()
	}
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

func bytes(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if math.Abs(v) >= u.size {
			return fmt.Sprintf("%.*f %s", digits(v/u.size), v/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0f bytes", v)
}

// digits returns the decimals for three digits in all.
func digits(v float64) int {
	switch v = math.Abs(v); {
	case v >= 99.95:
		return 0
	case v >= 9.995:
		return 1
	}
	return 2
}

// percent returns a slope of logarithms as a percentage.
func percent(v float64) string {
	p := math.Expm1(v) * 100
	return fmt.Sprintf("%.*f %%", digits(p), p)
}

// sure returns a confidence.
func sure(c float64) string {
	return strconv.FormatFloat(math.Floor(c*1e4)/1e2, 'f', -1, 64) + " % confidence"
}

func round(d time.Duration) time.Duration {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second)
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}

// clock returns a time since the start as hours and minutes, with seconds: 0:07:30.
func clock(ms int64) string {
	s := (ms + 500) / 1000
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

func windows(n int) string {
	if n == 1 {
		return "1 window"
	}
	return strconv.Itoa(n) + " windows"
}
