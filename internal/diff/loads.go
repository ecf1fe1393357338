package diff

import (
	"maps"
	"slices"
	"strings"

	"assay/internal/bundle"
)

// Load is one load run in the form for comparison.
type Load struct {
	Name    string
	Target  bundle.Target
	Profile string
	Verdict string // pass, fail or inconclusive
	Message string // the reason, unless it is pass
	// Plan holds the settings by name: streams, command, protocol …
	Plan map[string]string
	// Counts are the counted figures by name; times are in microseconds.
	Counts map[string]int64
	// Thresholds maps each condition to whether it held.
	Thresholds map[string]bool
	// Intervals are the quantiles of each interval of the run, in microseconds, by name
	// (first_event.p50, for a class first_event.p50/held); nil without a histogram log.
	Intervals map[string][]float64
	// Each describes one interval: "one second".
	Each string
}

// Loads compares two load runs. It compares latencies by interval: within one, streams wait
// for each other, so thousands of streams are not thousands of independent samples.
func Loads(a, b Load, o Options) *bundle.Diff {
	d := &bundle.Diff{Schema: bundle.DiffSchema, Kind: bundle.DiffLoads, A: a.side(), B: b.side(), Context: loadContext(a, b)}
	put := func(rule string, was, now bundle.Conclusion, message string) {
		v := bundle.VerdictChange{Rule: rule, Level: "must", Axes: []string{}, Was: was, Now: now, Message: message}
		switch {
		case was == now:
		case Worse(was, now):
			d.Regressions = append(d.Regressions, v)
		case better(was, now):
			d.Fixes = append(d.Fixes, v)
		default:
			d.Changes = append(d.Changes, v)
		}
	}
	put("load", bundle.Conclusion(a.Verdict), bundle.Conclusion(b.Verdict), b.Message)
	for _, expr := range slices.Sorted(maps.Keys(union(a.Thresholds, b.Thresholds))) {
		put("threshold "+expr, held(a.Thresholds, expr), held(b.Thresholds, expr), "")
	}
	for _, name := range slices.Sorted(maps.Keys(union(a.Counts, b.Counts))) {
		if a.Counts[name] != b.Counts[name] {
			d.Counts = append(d.Counts, bundle.CountChange{Name: name, A: a.Counts[name], B: b.Counts[name]})
		}
	}
	d.Equal = len(d.Regressions)+len(d.Fixes)+len(d.Changes) == 0
	d.Latency, d.LatencyNote = loadLatency(a, b, o)
	finish(d)
	return d
}

func (l Load) side() bundle.DiffSide {
	return bundle.DiffSide{Name: l.Name, Target: l.Target, Profile: l.Profile, Verdict: l.Verdict}
}

// held returns the verdict of a threshold; "" if it was not set.
func held(thresholds map[string]bool, expr string) bundle.Conclusion {
	switch ok, asked := thresholds[expr]; {
	case !asked:
		return ""
	case ok:
		return bundle.Pass
	default:
		return bundle.Fail
	}
}

func loadContext(a, b Load) []bundle.DiffContext {
	var all []bundle.DiffContext
	if a.Target.Embedded != b.Target.Embedded || !a.Target.Embedded && a.Target.URL != b.Target.URL {
		all = append(all, bundle.DiffContext{What: "target", A: a.Target.URL, B: b.Target.URL})
	}
	if a.Profile != b.Profile {
		all = append(all, bundle.DiffContext{What: "profile", A: a.Profile, B: b.Profile})
	}
	for _, name := range slices.Sorted(maps.Keys(union(a.Plan, b.Plan))) {
		if a.Plan[name] != b.Plan[name] {
			all = append(all, bundle.DiffContext{What: name, A: a.Plan[name], B: b.Plan[name]})
		}
	}
	return all
}

func loadLatency(a, b Load, o Options) (all []bundle.LatencyChange, note string) {
	if a.Intervals == nil || b.Intervals == nil {
		return nil, "a report alone has no histograms: compare two directories of load --out"
	}
	var pairs []pair
	for _, key := range slices.Sorted(maps.Keys(union(a.Intervals, b.Intervals))) {
		name, class, _ := strings.Cut(key, "/")
		pairs = append(pairs, pair{name: name, of: class, each: a.Each, a: a.Intervals[key], b: b.Intervals[key]})
	}
	if len(pairs) == 0 {
		return nil, "no second of either run has enough values to compare"
	}
	return compareAll(pairs, o), ""
}
