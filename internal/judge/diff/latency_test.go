package diff

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

// around returns n values that spread over a tenth around a middle.
func around(seed uint64, middle float64, n int) []float64 {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's data
	values := make([]float64, n)
	for i := range values {
		values[i] = middle * (0.95 + 0.1*r.Float64())
	}
	return values
}

func TestLatenciesAreComparedWithConfidence(t *testing.T) {
	constant := []float64{5, 5, 5, 5, 5, 5}
	for name, c := range map[string]struct {
		a, b       []float64
		threshold  float64
		want       string
		regression bool
	}{
		"the same distribution":               {around(1, 100, 30), around(2, 100, 30), 0.01, bundle.LatencySame, false},
		"twice as slow":                       {around(1, 100, 30), around(2, 200, 30), 0, bundle.LatencySlower, false},
		"twice as slow, past the threshold":   {around(1, 100, 30), around(2, 200, 30), 0.5, bundle.LatencySlower, true},
		"twice as slow, under the threshold":  {around(1, 100, 30), around(2, 200, 30), 1.5, bundle.LatencySlower, false},
		"half as slow":                        {around(1, 100, 30), around(2, 50, 30), 0.1, bundle.LatencyFaster, false},
		"three of each are too few":           {around(1, 100, 3), around(2, 900, 3), 0.1, bundle.LatencyTooFew, false},
		"one against many is too few":         {around(1, 100, 1), around(2, 900, 20), 0.1, bundle.LatencyTooFew, false},
		"four of each are enough":             {around(1, 100, 4), around(2, 900, 4), 0.1, bundle.LatencySlower, true},
		"all the same value":                  {constant, constant, 0.1, bundle.LatencySame, false},
		"measured by only one of them":        {around(1, 100, 30), nil, 0.1, bundle.LatencyMissing, false},
		"a zero before, as on a coarse clock": {make([]float64, 9), around(2, 1, 9), 0.1, bundle.LatencySlower, false},
	} {
		t.Run(name, func(t *testing.T) {
			all := compareAll([]pair{{name: "x", a: c.a, b: c.b}}, Options{Threshold: c.threshold})
			got := all[0]
			if got.Result != c.want || got.Regression != c.regression {
				t.Errorf("got %+v", got)
			}
			if math.IsNaN(got.P) || math.IsInf(got.Change, 0) || math.IsInf(got.A.Low, 0) {
				t.Errorf("JSON cannot hold %+v", got)
			}
			if (got.Result == bundle.LatencyTooFew) != (got.Needed > 0) || got.A.Samples != len(c.a) || got.B.Samples != len(c.b) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// At 5 % each, twenty of 400 comparisons of equal samples would differ. Together they
// have 5 % for any difference; with this seed there is none.
func TestManyComparisonsDoNotCryWolf(t *testing.T) {
	var pairs []pair
	for i := range uint64(400) {
		pairs = append(pairs, pair{name: "x", a: around(10_000+2*i, 100, 20), b: around(10_001+2*i, 100, 20)})
	}
	for i, l := range compareAll(pairs, Options{Threshold: 0.0001}) {
		if l.Result != bundle.LatencySame {
			t.Errorf("comparison %d: %+v", i, l)
		}
	}
}

func TestTheSmallestPIsThatOfSamplesThatDoNotOverlap(t *testing.T) {
	for n, want := range map[int]float64{2: 1.0 / 3, 3: 0.1, 4: 2.0 / 70, 5: 2.0 / 252} {
		if got := smallestP(n, n); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d of each: %v, want %v", n, got, want)
		}
	}
	if n := needed(0.05); n != 4 {
		t.Errorf("%d samples are needed at 5 %%", n)
	}
}

// observation returns a scenario that ran n times, each time with one unary call and
// one start that took so many microseconds.
func observation(id string, n int, us int64) *bundle.Observation {
	o := &bundle.Observation{Scenario: id, Axes: axesJSON}
	for i := range n {
		end := us*1000 + int64(i)
		o.Iterations = append(o.Iterations, bundle.Iteration{
			Index: i, Ended: bundle.Stamp{T: 3 * end},
			Exchanges: []bundle.Exchange{
				{RPC: "process.Process/List", Shape: bundle.ShapeUnary, Outcome: bundle.OutcomeComplete, Returned: &bundle.Stamp{T: end}},
				{RPC: "process.Process/List", Shape: bundle.ShapeUnary, Outcome: bundle.OutcomeStalled},
				{RPC: "process.Process/Start", Shape: bundle.ShapeStream, Events: []bundle.Event{{Kind: bundle.EventStart, At: bundle.Stamp{T: 2 * end}}}},
			},
		})
	}
	return o
}

func TestRunsMeasureRoundTripsStartsAndIterations(t *testing.T) {
	side := func(us int64) Run {
		r := Run{Report: report(verdict("r.a.b", bundle.Pass)), Info: &bundle.Run{}}
		for i := range int64(6) {
			r.Observations = append(r.Observations, observation("a."+string(rune('b'+i)), 1, us+i))
		}
		r.Observations = append(r.Observations, observation("z.repeated", 10, us), nil, &bundle.Observation{Scenario: "z.skipped", Skip: &bundle.Skip{}})
		return r
	}
	d := Runs(side(100), side(300), Options{Threshold: 1})
	var names []string
	for _, l := range d.Latency {
		names = append(names, l.Name)
		if l.Result != bundle.LatencySlower || !l.Regression || math.Abs(l.Change-2) > 0.1 {
			t.Errorf("got %+v", l)
		}
	}
	if strings.Join(names, " ") != "round_trip first_event iteration" || d.Latency[0].A.Samples != 7 || d.Latency[2].A.Samples != 10 {
		t.Errorf("got %+v", d.Latency)
	}
	if d.Exit != 1 || !d.Equal {
		t.Errorf("exit %d, equal %v", d.Exit, d.Equal)
	}
	if d := Runs(Run{Report: report()}, side(1), Options{}); d.LatencyNote == "" || len(d.Latency) > 0 {
		t.Errorf("a report alone: %+v, %q", d.Latency, d.LatencyNote)
	}
}

func TestLoadsAreComparedByInterval(t *testing.T) {
	side := func(verdict bundle.LoadVerdict, middle float64, stalls int64, ok bool) Load {
		r := &bundle.LoadReport{Verdict: verdict, Plan: bundle.LoadPlan{Streams: 10}, Thresholds: []bundle.LoadThreshold{{Expr: "first_event.p99 < 1s", OK: &ok}}}
		r.Streams.Opened, r.Streams.Outcomes[bundle.StreamStall] = 100, stalls
		seconds := func(seed uint64, middle float64) (all []bundle.LoadInterval) {
			for _, v := range around(seed, middle, 20) {
				all = append(all, bundle.LoadInterval{Latency: bundle.Latency{Count: leastInInterval, P50: int64(1000 * v)}})
			}
			return append(all, bundle.LoadInterval{Latency: bundle.Latency{Count: leastInInterval - 1, P50: 1e9}}) // too few
		}
		return Load{LoadRun: &bundle.LoadRun{Report: r, Intervals: map[bundle.LoadSeries][]bundle.LoadInterval{
			{Metric: "first_event"}: seconds(uint64(middle), middle), {Metric: "first_event", Class: "held"}: seconds(uint64(middle), 5),
			{Metric: "start_lag"}: seconds(1, 5), // of the driver: not compared
		}}}
	}
	d := Loads(side("pass", 100, 0, true), side("fail", 200, 3, false), Options{Threshold: 0.5})
	if d.Exit != 1 || len(d.Regressions) != 2 || d.Regressions[0].Rule != "load" || len(d.Counts) != 1 || !d.Latency[0].Regression {
		t.Errorf("got %+v", d)
	}
	if held := d.Latency[1]; held.Name != "first_event.p50" || held.Of != "held" || held.Result != bundle.LatencySame {
		t.Errorf("quantiles of the class: %+v", held)
	}
	same := Loads(side("pass", 100, 0, true), side("pass", 101, 0, true), Options{})
	if same.Exit != 0 || !same.Equal {
		t.Errorf("got %+v", same)
	}
	alone := side("pass", 100, 0, true)
	alone.Intervals = nil
	alone.Report.Plan.Streams = 20
	if d := Loads(side("pass", 100, 0, true), alone, Options{}); d.LatencyNote == "" || len(d.Context) != 1 || d.Context[0].What != "streams" {
		t.Errorf("got %+v", d)
	}
}
