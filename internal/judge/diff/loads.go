package diff

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/internal/record/bundle"
)

// Load is one load run, by the name of its directory or file.
type Load struct {
	Name string
	*bundle.LoadRun
}

// Loads compares two load runs. It compares latencies by interval: within one, streams wait
// for each other, so thousands of streams are not thousands of independent samples.
func Loads(a, b Load, o Options) *bundle.Diff {
	d := &bundle.Diff{Schema: bundle.DiffSchema, Kind: bundle.DiffLoads, A: a.side(), B: b.side(), Context: loadContext(a, b)}
	put := func(rule string, was, now bundle.Conclusion, message string) {
		v := bundle.VerdictChange{Rule: rule, Level: "must", Axes: []string{}, Was: was, Now: now, Message: message}
		if was != now {
			to := list(d, v)
			*to = append(*to, v)
		}
	}
	put("load", bundle.Conclusion(a.Report.Verdict), bundle.Conclusion(b.Report.Verdict), firstOf(b.Report.Reasons))
	was, now := a.thresholds(), b.thresholds()
	for _, expr := range slices.Sorted(maps.Keys(union(was, now))) {
		put("threshold "+expr, was[expr], now[expr], "")
	}
	before, after := a.counts(), b.counts()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if before[name] != after[name] {
			d.Counts = append(d.Counts, bundle.CountChange{Name: name, A: before[name], B: after[name]})
		}
	}
	d.Equal = len(d.Regressions)+len(d.Fixes)+len(d.Changes) == 0
	d.Latency, d.LatencyNote = loadLatency(a, b, o)
	finish(d)
	return d
}

func (l Load) side() bundle.DiffSide {
	r := l.Report
	return bundle.DiffSide{
		Name: l.Name, Target: bundle.Target{URL: r.Target.URL, Embedded: r.Target.Embedded},
		Profile: r.Target.Profile, Verdict: string(r.Verdict),
	}
}

func firstOf(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}

// thresholds returns the verdicts of the decided thresholds.
func (l Load) thresholds() map[string]bundle.Conclusion {
	all := map[string]bundle.Conclusion{}
	for _, t := range l.Report.Thresholds {
		switch {
		case t.OK == nil:
		case *t.OK:
			all[t.Expr] = bundle.Pass
		default:
			all[t.Expr] = bundle.Fail
		}
	}
	return all
}

// plan returns the parameters of the load, by name.
func (l Load) plan() map[string]string {
	r := l.Report
	return map[string]string{
		"model": r.Plan.Model, "streams": strconv.Itoa(r.Plan.Streams), "rate": strconv.FormatFloat(r.Plan.Rate, 'g', -1, 64),
		"count": strconv.Itoa(r.Plan.Count), "duration_ms": strconv.FormatInt(r.Plan.DurationMS, 10),
		"ramp_ms": strconv.FormatInt(r.Plan.RampMS, 10), "command": r.Plan.Command, "check": r.Plan.Check,
		"protocol": r.Target.Protocol, "codec": r.Target.Codec, "http": r.Target.HTTP, "engine": r.Driver.Engine,
	}
}

// counts returns the counted figures, by name.
func (l Load) counts() map[string]int64 {
	r := l.Report
	all := map[string]int64{
		"streams.opened": r.Streams.Opened, "streams.open_peak": r.Streams.OpenPeak, "streams.completed": r.Streams.Completed,
		"metrics.violations": int64(len(r.Metrics.Violations)),
	}
	for o, n := range r.Streams.Outcomes.All() {
		all["outcomes."+o.String()] = n
	}
	return all
}

func loadContext(a, b Load) []bundle.DiffContext {
	var all []bundle.DiffContext
	x, y := a.Report.Target, b.Report.Target
	if x.Embedded != y.Embedded || !x.Embedded && x.URL != y.URL {
		all = append(all, bundle.DiffContext{What: "target", A: x.URL, B: y.URL})
	}
	if x.Profile != y.Profile {
		all = append(all, bundle.DiffContext{What: "profile", A: x.Profile, B: y.Profile})
	}
	was, now := a.plan(), b.plan()
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if was[name] != now[name] {
			all = append(all, bundle.DiffContext{What: name, A: was[name], B: now[name]})
		}
	}
	return all
}

func loadLatency(a, b Load, o Options) (all []bundle.LatencyChange, note string) {
	if a.Intervals == nil || b.Intervals == nil {
		return nil, "a report alone has no histograms: compare two directories of load --out"
	}
	was, now := a.quantiles(), b.quantiles()
	var pairs []pair
	for _, key := range slices.Sorted(maps.Keys(union(was, now))) {
		name, class, _ := strings.Cut(key, "/")
		pairs = append(pairs, pair{name: name, of: class, each: "one second of the run", a: was[key], b: now[key]})
	}
	if len(pairs) == 0 {
		return nil, "no second of either run has enough values to compare"
	}
	return compareAll(pairs, o), ""
}

// leastInInterval is the number of values that an interval needs for its p99 to be
// compared: with fewer, it is little more than the maximum.
const leastInInterval = 10

// quantiles returns the quantiles of each interval, in microseconds, by name:
// first_event.p50, or for a class first_event.p50/held.
func (l Load) quantiles() map[string][]float64 {
	all := map[string][]float64{}
	for s, intervals := range l.Intervals {
		if s.Metric != "first_event" && s.Metric != "gap" && s.Metric != "end_of_stream" {
			continue
		}
		p50 := bundle.LoadSeries{Metric: s.Metric + ".p50", Class: s.Class}.String()
		p99 := bundle.LoadSeries{Metric: s.Metric + ".p99", Class: s.Class}.String()
		for _, i := range intervals {
			if i.Latency.Count >= leastInInterval {
				all[p50] = append(all[p50], float64(i.Latency.P50))
				all[p99] = append(all[p99], float64(i.Latency.P99))
			}
		}
	}
	return all
}
