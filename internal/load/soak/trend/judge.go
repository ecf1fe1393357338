package trend

import (
	"fmt"
	"math"
	"time"

	"assay/internal/record/bundle"
)

// The verdicts of a series.
const (
	Steady       = "steady"
	Leaks        = "leaks"
	Drifts       = "drifts"
	Inconclusive = "inconclusive"
)

// settled is the shortest time over which a rise of memory or of a latency counts: the heap of a runtime, its compiled
// code and caches grow for minutes after the first load.
const settled = 5 * time.Minute

// power is the probability with which the smallest detectable change would be found.
const power = 0.9

// JudgeAll judges the series of a soak. The confidence is shared: it is the probability that a soak in which
// nothing rises has no leak and no drift.
func JudgeAll(series []Series, confidence float64) []bundle.SoakSeries {
	out := make([]bundle.SoakSeries, 0, len(series))
	each := 1 - (1-confidence)/float64(max(len(series), 1))
	for i := range series {
		out = append(out, Judge(series[i], each))
	}
	return out
}

// Judge judges one series with a confidence of its own.
func Judge(s Series, confidence float64) bundle.SoakSeries {
	points := s.judged()
	r := bundle.SoakSeries{
		Name: s.Name, Kind: string(s.Kind), Unit: s.Unit, Verdict: Steady, N: len(points), Missing: s.missing(points),
		Confidence: confidence, Points: make([]bundle.SoakPoint, 0, len(s.Points)),
	}
	for _, p := range s.Points {
		r.Points = append(r.Points, bundle.SoakPoint{AtMS: p.At.Milliseconds(), Value: p.Value, Warmup: p.At <= s.Warmup})
	}
	if len(points) < leastWindows {
		return tooShort(r, &s)
	}
	m := measure(&s, points, 1-confidence)
	m.fill(&r)
	m.conclude(&r)
	r.Message = m.message(&r)
	return r
}

// tooShort says that a series has too few windows.
func tooShort(r bundle.SoakSeries, s *Series) bundle.SoakSeries {
	r.Verdict = Inconclusive
	r.NeedWindows = leastWindows
	r.NeedMS = int64(leastWindows) * s.Window.Milliseconds()
	r.Reason = windows(r.N) + " after the warm-up: a trend needs at least " + windows(leastWindows)
	r.Message = s.Name + ": " + r.Reason
	return r
}

// measured is a series with its statistics.
type measured struct {
	series *Series
	points []Point
	x, y   []float64 // hours, and values: of a latency their logarithms
	alpha  float64
	level  float64 // the median value
	floor  floor
	test   kendall
	low    float64 // bounds of the slope
	high   float64
	shape  shape
	noise  float64 // standard deviation of what the trend does not explain
	hours  float64
}

func measure(s *Series, points []Point, alpha float64) *measured {
	m := &measured{series: s, points: points, alpha: alpha, floor: floorOf(s.Kind)}
	values := make([]float64, len(points))
	for i, p := range points {
		values[i] = p.Value
		m.x = append(m.x, p.At.Hours())
		m.y = append(m.y, p.Value)
		if s.Kind == Latency {
			m.y[i] = math.Log(max(p.Value, 1))
		}
	}
	m.level = median(values)
	m.hours = m.x[len(m.x)-1] - m.x[0]
	m.shape = shapeOf(m.x, m.y)
	m.test = newKendall(m.x, m.y, m.shape.rest)
	m.low, m.high = m.test.bounds(alpha)
	m.noise = m.spread()
	return m
}

// spread returns the robust standard deviation around the shape. It is not below the resolution of the values,
// because counts that happen to lie on a line would promise too much.
func (m *measured) spread() float64 {
	off := make([]float64, len(m.y))
	for i, v := range m.shape.rest {
		off[i] = math.Abs(v)
	}
	least := 0.5
	switch m.series.Kind {
	case Latency:
		least = 0.005
	case Memory:
		least = 4096
	case Descriptors, Goroutines, Entries, Gauge:
	}
	return max(1.4826*median(off), least)
}

// fill sets the figures.
func (m *measured) fill(r *bundle.SoakSeries) {
	low, high := m.low, m.high
	r.Slope, r.Low, r.High = m.test.slope, &low, &high
	first, last := m.ends()
	r.Change = last - first
	if ops := m.points[len(m.points)-1].Ops - m.points[0].Ops; ops > 0 {
		r.PerOps = r.Change / ops * 1000
	}
	r.Detectable = m.detectable()
	r.NeedChange = max(r.Detectable/2, m.leastPossible())
	if r.NeedChange < r.Detectable {
		// The smallest slope falls with the length to the power of three halves.
		n := float64(len(m.y)) * math.Pow(r.Detectable/r.NeedChange, 2.0/3)
		if m.series.Kind == Memory || m.series.Kind == Latency { // or, at its floor, with the length
			n = max(n, float64(len(m.y))*min(m.leastSlope()/r.NeedChange, 4))
		}
		r.NeedWindows = int(math.Ceil(n))
		r.NeedMS = int64(r.NeedWindows) * m.series.Window.Milliseconds()
	} else {
		r.NeedChange = 0
	}
}

// ends returns the values at the first and at the last point, on the line of the trend.
func (m *measured) ends() (first, last float64) {
	off := make([]float64, len(m.y))
	for i := range m.y {
		off[i] = m.y[i] - m.test.slope*m.x[i]
	}
	center := median(off)
	first, last = center+m.test.slope*m.x[0], center+m.test.slope*m.x[len(m.x)-1]
	if m.series.Kind == Latency {
		return math.Exp(first), math.Exp(last)
	}
	return first, last
}

// detectable returns the slope that is found with a probability of power: it is significant, and its estimate is
// above the floor.
func (m *measured) detectable() float64 {
	n := float64(len(m.y))
	spacing := m.hours / (n - 1)
	inflated := math.Sqrt(m.test.variance / max(varianceOf(m.y), 1))
	deviation := m.noise * max(inflated, 1) / (spacing * math.Sqrt(n*(n*n-1)/12)) // of the slope
	return max(quantile(1-m.alpha)*deviation, m.leastSlope()) + quantile(power)*deviation
}

// leastSlope returns the slope of the smallest rise that counts in a soak of this length.
func (m *measured) leastSlope() float64 {
	if m.series.Kind == Latency {
		return math.Log1p(max(m.floor.part, m.floor.change/max(m.level, 1))) / m.hours
	}
	return max(m.floor.perHour, max(m.floor.change, m.floor.part*m.level)/m.hours)
}

// leastPossible returns the slope of the smallest rise that counts in a soak of any length.
func (m *measured) leastPossible() float64 { return m.floor.perHour }

// conclude sets the verdict.
func (m *measured) conclude(r *bundle.SoakSeries) {
	at := func(i int) int64 { return m.points[i].At.Milliseconds() }
	rising := m.low > 0 && m.test.rises() < m.alpha
	if m.shape.over && m.counts(m.shape.size) && m.clear() {
		ms := at(m.shape.end)
		r.StepMS, r.StepSize = &ms, m.stepSize()
		r.Reason = "the rise has ended"
		return
	}
	switch {
	case !rising, !m.sizeable(r):
	case m.series.Kind == Latency && !m.later():
	case (m.series.Kind == Memory || m.series.Kind == Latency) && m.hours < settled.Hours():
		r.Verdict = Inconclusive
		r.Reason = fmt.Sprintf("it rose over %v, but a process settles only in minutes: want at least %v after the warm-up", time.Duration(m.hours*float64(time.Hour)).Round(time.Second), settled)
		r.NeedMS = settled.Milliseconds()
		r.NeedWindows = int(settled/m.series.Window) + 1
	default:
		r.Verdict = Leaks
		if m.series.Kind == Latency {
			r.Verdict = Drifts
		}
		began := at(m.shape.began)
		r.BeganMS, r.BeganFromMS, r.BeganToMS = &began, at(m.shape.from), at(m.shape.to)
	}
}

// clear reports whether a step stands out of the noise.
func (m *measured) clear() bool { return m.shape.size > 3*m.noise }

// stepSize returns the size of a step in units.
func (m *measured) stepSize() float64 {
	if m.series.Kind == Latency {
		return m.level * math.Expm1(m.shape.size)
	}
	return m.shape.size
}

// counts reports whether a rise, in the scale of y, is above the floor.
func (m *measured) counts(rise float64) bool {
	if m.series.Kind == Latency {
		return rise >= math.Log1p(m.floor.part) && m.level*math.Expm1(rise) >= m.floor.change
	}
	return rise >= max(m.floor.change, m.floor.part*m.level)
}

// sizeable reports whether the trend is above the floor.
func (m *measured) sizeable(r *bundle.SoakSeries) bool {
	if m.series.Kind == Latency {
		return m.counts(m.test.slope * m.hours)
	}
	return m.test.slope >= m.floor.perHour && m.counts(r.Change)
}

// later reports whether the last third of the values outranks the first.
func (m *measured) later() bool {
	third := len(m.y) / 3
	return outranks(m.y[:third], m.y[len(m.y)-third:]) < max(m.alpha, leastRank)
}

// leastRank bounds the probability that is asked of few values: three above three others have one of 0.05.
const leastRank = 0.05

// span returns the judged time.
func (m *measured) span() time.Duration {
	return m.points[len(m.points)-1].At - m.points[0].At
}
