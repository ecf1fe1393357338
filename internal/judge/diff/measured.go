package diff

import (
	"maps"
	"slices"

	"assay/internal/record/bundle"
)

// leastIterations is the minimum number of iterations on both sides for comparing the
// durations of an instance: with fewer, no difference could be significant.
const leastIterations = 4

// runLatency compares the latencies of two bundles: over the run, round trips of unary
// calls and times to the start event, one value for each common scenario; and for each
// repeated scenario the durations of its iterations.
func runLatency(a, b Run, o Options) (all []bundle.LatencyChange, note string) {
	if a.Info == nil || b.Info == nil {
		return nil, "a report alone has no measured times: compare two bundles (--out DIR)"
	}
	was, now := byPlace(a.Observations), byPlace(b.Observations)
	trips := pair{name: "round_trip", each: "the median of the unary calls of a scenario"}
	starts := pair{name: "first_event", each: "the median time to the start event in a scenario"}
	var repeated []pair
	for _, k := range slices.SortedFunc(maps.Keys(was), place.compare) {
		x, y := was[k], now[k]
		if y == nil {
			continue
		}
		trips.add(roundTrips(x), roundTrips(y))
		starts.add(firstEvents(x), firstEvents(y))
		if i, j := iterations(x), iterations(y); len(i) >= leastIterations && len(j) >= leastIterations {
			repeated = append(repeated, pair{name: bundle.LatencyIteration, of: k.scenario + " " + k.axes, each: "an iteration of the scenario", a: i, b: j})
		}
	}
	for _, p := range []pair{trips, starts} {
		if len(p.a) > 0 {
			all = append(all, compareAll([]pair{p}, o)...)
		}
	}
	all = append(all, compareAll(repeated, o)...)
	if len(all) == 0 {
		note = "the two bundles have no measurements in common"
	}
	return all, note
}

// add adds one value for each side, if both have any.
func (p *pair) add(a, b []float64) {
	if len(a) > 0 && len(b) > 0 {
		p.a, p.b = append(p.a, median(a)), append(p.b, median(b))
	}
}

// byPlace indexes the observations by scenario and axes.
func byPlace(obs []*bundle.Observation) map[place]*bundle.Observation {
	all := map[place]*bundle.Observation{}
	for _, o := range obs {
		if o != nil && o.Skip == nil && !o.Interrupted {
			all[place{o.Scenario, o.Axes.String()}] = o
		}
	}
	return all
}

// roundTrips returns the durations of the successful unary calls, in microseconds.
func roundTrips(o *bundle.Observation) []float64 {
	return exchanges(o, func(x *bundle.Exchange) (bundle.Stamp, bool) {
		if x.Shape != bundle.ShapeUnary || x.RPC == "" || x.Outcome != bundle.OutcomeComplete || x.Error != nil || x.Returned == nil {
			return bundle.Stamp{}, false
		}
		return *x.Returned, true
	})
}

// firstEvents returns the times from requests to start events, in microseconds.
func firstEvents(o *bundle.Observation) []float64 {
	return exchanges(o, func(x *bundle.Exchange) (bundle.Stamp, bool) {
		if len(x.Events) == 0 || x.Events[0].Kind != bundle.EventStart {
			return bundle.Stamp{}, false
		}
		return x.Events[0].At, true
	})
}

func exchanges(o *bundle.Observation, end func(*bundle.Exchange) (bundle.Stamp, bool)) []float64 {
	var all []float64
	for _, x := range o.Exchanges() {
		if at, ok := end(x); ok && at.T >= x.Invoked.T {
			all = append(all, float64(at.T-x.Invoked.T)/1e3)
		}
	}
	return all
}

// iterations returns the duration of each iteration, in microseconds.
func iterations(o *bundle.Observation) []float64 {
	var all []float64
	for it := range bundle.Each(o.Iterations) {
		if it.Defect == "" && it.Ended.T > it.Started.T {
			all = append(all, float64(it.Ended.T-it.Started.T)/1e3)
		}
	}
	return all
}
