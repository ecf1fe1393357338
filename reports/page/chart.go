package page

import (
	"math"
	"strconv"
)

// Unit says how the values of an axis are written.
type Unit string

// The units.
const (
	UnitCount    Unit = "count"
	UnitMicros   Unit = "us"
	UnitQuantile Unit = "quantile" // 1/(1-q)
)

// Chart is a plot of lines. Go draws it as SVG; uPlot draws it again where scripts run,
// with a cursor that reads the values.
type Chart struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Summary describes what the chart shows to those who do not see it.
	Summary string   `json:"-"`
	X       Axis     `json:"x"`
	Y       Axis     `json:"y"`
	Series  []Series `json:"series"`
	// Bands are shaded intervals of X.
	Bands []Band `json:"bands,omitempty"`
}

// Axis is one axis of a chart.
type Axis struct {
	Label string `json:"label"`
	Unit  Unit   `json:"unit"`
	Log   bool   `json:"log,omitempty"`
	// From and To are the ends of the axis; both 0: those of the values. Only X has them.
	From float64 `json:"from,omitempty"`
	To   float64 `json:"to,omitempty"`
	// Ticks are the labelled places; none: they are computed.
	Ticks []Tick `json:"ticks,omitempty"`
}

// Tick is a labelled place on an axis.
type Tick struct {
	At    float64 `json:"at"`
	Label string  `json:"label"`
}

// Series is one line. Lines differ in colour and in dashes.
type Series struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// Point is one value; as JSON it is [x, y].
type Point struct{ X, Y float64 }

// MarshalJSON returns [x, y].
func (p Point) MarshalJSON() ([]byte, error) {
	b := strconv.AppendFloat([]byte("["), p.X, 'g', 7, 64)
	b = strconv.AppendFloat(append(b, ','), p.Y, 'g', 7, 64)
	return append(b, ']'), nil
}

// Band is a shaded interval with a name.
type Band struct {
	Name string  `json:"name"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// mostPoints limits the points of a line. More are reduced to the smallest and the
// largest of each interval, so that no peak is lost.
const mostPoints = 1200

// Ready returns the chart with points that both drawings can show: finite ones, positive
// ones on a logarithmic axis, and not more than fit. A chart without any has no series.
func (c Chart) Ready() Chart {
	var kept []Series
	for _, s := range c.Series {
		var points []Point
		for _, p := range s.Points {
			if finite(p.X) && finite(p.Y) && (!c.X.Log || p.X > 0) && (!c.Y.Log || p.Y > 0) && c.X.holds(p.X) {
				points = append(points, p)
			}
		}
		if len(points) > 0 {
			kept = append(kept, Series{s.Name, thin(points, mostPoints)})
		}
	}
	c.Series = kept
	return c
}

// holds reports whether a value lies between the ends of the axis.
func (a Axis) holds(v float64) bool { return a.To <= a.From || a.From <= v && v <= a.To }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// thin keeps the smallest and the largest value of each interval of points.
func thin(points []Point, most int) []Point {
	if len(points) <= most {
		return points
	}
	intervals := most / 2
	var out []Point
	for i := range intervals {
		from, to := i*len(points)/intervals, (i+1)*len(points)/intervals
		low, high := from, from
		for j := from; j < to; j++ {
			if points[j].Y < points[low].Y {
				low = j
			}
			if points[j].Y > points[high].Y {
				high = j
			}
		}
		out = append(out, points[min(low, high)])
		if low != high {
			out = append(out, points[max(low, high)])
		}
	}
	return out
}

// span is the interval of the values of an axis.
type span struct{ low, high float64 }

// spans returns the intervals of both axes. That of Y begins at 0 unless it is
// logarithmic.
func (c Chart) spans() (x, y span) {
	x, y = span{math.Inf(1), math.Inf(-1)}, span{math.Inf(1), math.Inf(-1)}
	for _, s := range c.Series {
		for _, p := range s.Points {
			x.low, x.high = min(x.low, p.X), max(x.high, p.X)
			y.low, y.high = min(y.low, p.Y), max(y.high, p.Y)
		}
	}
	if c.X.To > c.X.From {
		x = span{c.X.From, c.X.To}
	}
	if c.Y.Log {
		y.low, y.high = floorNice(y.low), ceilNice(y.high)
	} else {
		y.low, y.high = min(y.low, 0), y.high*1.05
	}
	return x.wide(c.X.Log), y.wide(c.Y.Log)
}

// wide returns an interval that is not empty.
func (s span) wide(logarithmic bool) span {
	switch {
	case s.high > s.low:
	case logarithmic:
		s.high = s.low * 10
	default:
		s.high = s.low + 1
	}
	return s
}

// at returns the place of a value in the interval, from 0 to 1.
func (s span) at(v float64, logarithmic bool) float64 {
	if logarithmic {
		return math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	return (v - s.low) / (s.high - s.low)
}
