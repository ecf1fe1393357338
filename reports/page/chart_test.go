package page

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestTicksStandAtRoundNumbers(t *testing.T) {
	tests := []struct {
		name string
		axis Axis
		of   span
		want string
	}{
		{"linear", Axis{Unit: UnitCount}, span{0, 42}, "0 10 20 30 40"},
		{"small", Axis{Unit: UnitCount}, span{0, 1}, "0 0.2 0.4 0.6 0.8 1"},
		{"large", Axis{Unit: UnitCount}, span{0, 1e6}, "0 200 k 400 k 600 k 800 k 1 M"},
		{"one decade", Axis{Unit: UnitMicros, Log: true}, span{100, 1000}, "100 µs 200 µs 500 µs 1 ms"},
		{"many decades", Axis{Unit: UnitMicros, Log: true}, span{10, 1e8}, "10 µs 1 ms 100 ms 10 s"},
		{"given ones that fit", Axis{Log: true, Ticks: []Tick{{1, "0"}, {10, "90"}, {100, "99"}}}, span{1, 20}, "0 90"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var labels []string
			for _, tick := range tt.axis.ticks(tt.of, 5) {
				labels = append(labels, tick.Label)
			}
			if got := strings.Join(labels, " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestFewerPointsKeepEveryPeak(t *testing.T) {
	points := make([]Point, 100_000)
	for i := range points {
		points[i] = Point{float64(i), 10}
	}
	points[77_777].Y, points[33_333].Y = 500, -3
	got := thin(points, 1000)
	if len(got) > 1000 {
		t.Errorf("%d points are left, want at most 1000", len(got))
	}
	var high, low bool
	for i, p := range got {
		high, low = high || p == points[77_777], low || p == points[33_333]
		if i > 0 && p.X < got[i-1].X {
			t.Fatalf("point %d is before its predecessor", i)
		}
	}
	if !high || !low {
		t.Errorf("kept the peak: %v, kept the dip: %v", high, low)
	}
}

func TestAChartHasOnlyPointsThatCanBeDrawn(t *testing.T) {
	c := Chart{X: Axis{Log: true}, Y: Axis{Log: true}, Series: []Series{
		{Name: "some", Points: []Point{{0, 1}, {1, 0}, {math.NaN(), 1}, {1, math.Inf(1)}, {2, 3}}},
		{Name: "none", Points: []Point{{-1, 1}}},
	}}.Ready()
	if len(c.Series) != 1 || len(c.Series[0].Points) != 1 || c.Series[0].Points[0] != (Point{2, 3}) {
		t.Errorf("kept %+v", c.Series)
	}
}

func TestAnAxisWithEndsReachesThem(t *testing.T) {
	c := Chart{X: Axis{To: 100}, Series: []Series{{Points: []Point{{-1, 1}, {40, 1}, {50, 2}, {101, 1}}}}}.Ready()
	if x, _ := c.spans(); x != (span{0, 100}) || len(c.Series[0].Points) != 2 {
		t.Errorf("the axis is %v, with %d points", x, len(c.Series[0].Points))
	}
}

// Every coordinate lies inside the drawing, whatever the values are.
func TestADrawingStaysInsideItsFrame(t *testing.T) {
	for name, c := range map[string]Chart{
		"a line":                   aChart(),
		"one point":                {Series: []Series{{Points: []Point{{5, 7}}}}},
		"equal values":             {Series: []Series{{Points: []Point{{0, 0}, {1, 0}, {2, 0}}}}},
		"negative values":          {Series: []Series{{Points: []Point{{0, -5}, {1, 5}}}}},
		"decades":                  {X: Axis{Log: true}, Y: Axis{Log: true}, Series: []Series{{Points: []Point{{1, 3}, {1e5, 7e9}}}}},
		"one value, logarithmic":   {X: Axis{Log: true}, Y: Axis{Log: true}, Series: []Series{{Points: []Point{{1, 1}}}}},
		"a band beyond the values": {Bands: []Band{{"warm-up", -10, 500}}, Series: []Series{{Points: []Point{{0, 1}, {10, 2}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			text := string(c.Ready().svg())
			for _, m := range regexp.MustCompile(`[ML](-?[0-9.e+]+|NaN) (-?[0-9.e+]+|NaN)`).FindAllStringSubmatch(text, -1) {
				inside(t, m[1], svgWidth)
				inside(t, m[2], svgHeight)
			}
			for _, m := range regexp.MustCompile(` (x1|x2|x|y1|y2|y)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
				inside(t, m[2], svgWidth)
			}
			if strings.Contains(text, "NaN") || !strings.Contains(text, `class="tick"`) {
				t.Errorf("no ticks, or no number:\n%s", text)
			}
		})
	}
}

func inside(t *testing.T, number string, limit float64) {
	t.Helper()
	if v, err := strconv.ParseFloat(number, 64); err != nil || v < 0 || v > limit {
		t.Errorf("coordinate %s is not between 0 and %g", number, limit)
	}
}

func TestAFigureNamesItsLines(t *testing.T) {
	text := string(aChart().Figure())
	for _, part := range []string{"<figcaption>", "A chart", `role="img"`, `data-chart="c"`, `class="line l0"`, " a</li>"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is not in\n%s", part, text)
		}
	}
	if (Chart{}).Figure() != "" {
		t.Error("a chart without points is drawn")
	}
}

func TestPointsArePairsInJSON(t *testing.T) {
	text, err := json.Marshal([]Point{{1, 2.5}, {1e9, 0.001}})
	if err != nil || string(text) != "[[1,2.5],[1e+09,0.001]]" {
		t.Errorf("got %s: %v", text, err)
	}
}
