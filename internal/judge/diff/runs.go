package diff

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/internal/record/bundle"
)

// Run is one run of the scenarios, prepared for a comparison.
type Run struct {
	// Name is the given directory or file.
	Name string
	// Report is the result of the run; it must not be nil.
	Report *bundle.Report
	// Info and Observations come from its bundle; without a bundle they are empty, and
	// features and latencies cannot be compared.
	Info         *bundle.Run
	Observations []*bundle.Observation
	// Partial describes the missing parts of the bundle.
	Partial []string
}

// Options configure a comparison.
type Options struct {
	// Threshold is the share by which a median must grow significantly to be a regression:
	// 0.1 is a tenth. 0 disables it.
	Threshold float64
}

// Runs compares two runs of the scenarios.
func Runs(a, b Run, o Options) *bundle.Diff {
	d := &bundle.Diff{Schema: bundle.DiffSchema, Kind: bundle.DiffRuns, A: a.side(), B: b.side(), Context: context(a, b)}
	old, now := index(a.Report), index(b.Report)
	c := changes{d: d, old: old, now: now}
	for _, k := range slices.SortedFunc(maps.Keys(union(old, now)), place.compare) {
		c.scenario(k)
	}
	c.unfinished(a.Report, b.Report)
	d.NewRules, d.VanishedRules = without(judgedBy(b.Report), judgedBy(a.Report)), without(judgedBy(a.Report), judgedBy(b.Report))
	if a.Report.Causes != nil && b.Report.Causes != nil { // older reports have none
		was, now := causesOf(a.Report), causesOf(b.Report)
		d.NewCauses, d.GoneCauses = without(now, was), without(was, now)
	}
	if a.Info != nil && b.Info != nil {
		d.Features = features(a.Info.Features, b.Info.Features)
	}
	d.Equal = len(d.Regressions)+len(d.Fixes)+len(d.Changes)+len(d.New)+len(d.Vanished)+
		len(d.NewRules)+len(d.VanishedRules)+len(d.Seen)+len(d.Features) == 0
	d.Latency, d.LatencyNote = runLatency(a, b, o)
	finish(d)
	return d
}

// finish replaces nil with empty lists, so that the JSON has no null, and sets the exit
// code.
func finish(d *bundle.Diff) {
	full(&d.Context)
	full(&d.Regressions)
	full(&d.Fixes)
	full(&d.Changes)
	full(&d.New)
	full(&d.Vanished)
	full(&d.NewRules)
	full(&d.VanishedRules)
	full(&d.NewCauses)
	full(&d.GoneCauses)
	full(&d.Seen)
	full(&d.Features)
	full(&d.Counts)
	full(&d.Latency)
	slower := slices.ContainsFunc(d.Latency, func(l bundle.LatencyChange) bool { return l.Regression })
	if len(d.Regressions) > 0 || slower {
		d.Exit = 1
	}
}

func full[T any](s *[]T) {
	if *s == nil {
		*s = []T{}
	}
}

func (r Run) side() bundle.DiffSide {
	return bundle.DiffSide{
		Name: r.Name, Run: r.Report.Run, Tool: r.Report.Tool, Target: r.Report.Target,
		Profile: r.Report.Profile, Verdict: r.Report.Verdict, Partial: r.Partial,
	}
}

// context lists the differences in setup. It ignores the URL of the embedded gateway,
// which has an arbitrary port.
func context(a, b Run) []bundle.DiffContext {
	target := func(t bundle.Target) string {
		if t.Embedded {
			return "the embedded gateway"
		}
		return t.URL
	}
	var all []bundle.DiffContext
	put := func(what, was, now string) {
		if was != now {
			all = append(all, bundle.DiffContext{What: what, A: was, B: now})
		}
	}
	put("tool", a.Report.Tool.Name+" "+a.Report.Tool.Version, b.Report.Tool.Name+" "+b.Report.Tool.Version)
	put("target", target(a.Report.Target), target(b.Report.Target))
	put("profile", a.Report.Profile, b.Report.Profile)
	put("shell", strings.Join(a.Report.Target.Shell, " "), strings.Join(b.Report.Target.Shell, " "))
	if a.Info != nil && b.Info != nil {
		put("selection", a.Info.Select, b.Info.Select)
		put("strict", strconv.FormatBool(a.Info.Strict), strconv.FormatBool(b.Info.Strict))
		put("known failures", a.Info.KnownFile, b.Info.KnownFile)
	}
	return all
}

// place is a scenario on one set of axes, or the whole run.
type place struct{ scenario, axes string }

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.scenario, o.scenario), cmp.Compare(p.axes, o.axes))
}

// index maps places to results; the rules of the run have the empty place.
func index(r *bundle.Report) map[place]bundle.ScenarioResult {
	all := map[place]bundle.ScenarioResult{{}: {Rules: r.RunRules}}
	for _, s := range r.Scenarios {
		all[place{s.ID, s.Axes.String()}] = s
	}
	return all
}

func union[K comparable, V any](a, b map[K]V) map[K]V {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// without returns the ids that are not in other, sorted.
func without(ids, other []string) []string {
	out := slices.Compact(slices.Sorted(slices.Values(ids)))
	return slices.DeleteFunc(out, func(id string) bool { return slices.Contains(other, id) })
}

// judgedBy returns the ids of the rules of a run.
func judgedBy(r *bundle.Report) []string {
	ids := make([]string, len(r.Rules))
	for i := range r.Rules {
		ids[i] = r.Rules[i].ID
	}
	return ids
}

// causesOf returns the ids of the rules that are a cause.
func causesOf(r *bundle.Report) []string {
	ids := make([]string, len(r.Causes))
	for i := range r.Causes {
		ids[i] = r.Causes[i].Rule
	}
	return ids
}

// features lists the features whose state changed.
func features(a, b map[string]bundle.Feature) []bundle.FeatureChange {
	var all []bundle.FeatureChange
	for _, id := range slices.Sorted(maps.Keys(union(a, b))) {
		if was, now := a[id].State, b[id].State; was != now {
			all = append(all, bundle.FeatureChange{ID: id, Was: was, Now: now})
		}
	}
	return all
}
