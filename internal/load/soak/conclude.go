package soak

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"assay/internal/load"
	"assay/internal/load/soak/trend"
	"assay/internal/record/bundle"
)

// Conclude sets the verdict of a soak from its recorded windows: totals, series, findings, events and reasons. It
// is pure: a stored soak can be concluded on again.
func Conclude(r *bundle.SoakReport) {
	r.Totals = totals(r.Windows)
	r.Gaps = gaps(r)
	r.Injections = nil
	for i := range r.Windows {
		r.Injections = append(r.Injections, r.Windows[i].Injections...)
	}
	if n := len(r.Windows); n > 0 {
		r.Driver = r.Windows[n-1].Driver
		r.DurationMS = max(r.DurationMS, r.Windows[n-1].ToMS)
		for i := range r.Windows[:n-1] {
			r.Driver.CPUSeconds += r.Windows[i].Driver.CPUSeconds
			r.Driver.RSSPeakBytes = max(r.Driver.RSSPeakBytes, r.Windows[i].Driver.RSSPeakBytes)
		}
	}
	breaks := restarts(r.Windows)
	r.Series = trend.JudgeAll(seriesOf(r, breaks), r.Plan.Confidence)
	r.Findings = findings(r, breaks)
	r.Verdict, r.Reasons = verdict(r)
	r.Events = events(r)
}

func totals(windows []bundle.SoakWindow) bundle.SoakTotals {
	var t bundle.SoakTotals
	for i := range windows {
		w := &windows[i]
		t.Streams += w.Streams.Completed
		t.Outcomes.Add(w.Streams.Outcomes, bundle.StreamOutcomes{})
		t.Events += w.Events
		t.Bytes += w.Bytes
		t.Ledger = load.Sum(t.Ledger, w.Ledger)
		for class, n := range w.Work {
			if t.Work == nil {
				t.Work = map[string]bundle.SoakWork{}
			}
			sum := t.Work[class]
			sum.Done, sum.Failed, sum.Example = sum.Done+n.Done, sum.Failed+n.Failed, cmp.Or(sum.Example, n.Example)
			sum.Late += n.Late
			sum.Latency.Count += n.Latency.Count
			sum.Latency.Max = max(sum.Latency.Max, n.Latency.Max)
			t.Work[class] = sum
		}
	}
	return t
}

// The reasons of gaps that are none of the target's.
const (
	resumedGap = "the soak was interrupted, and resumed"
	unknownGap = "nothing was recorded"
)

// gaps returns the recorded gaps, and those between windows that nobody recorded.
func gaps(r *bundle.SoakReport) []bundle.SoakGap {
	all := slices.Clone(r.Gaps)
	for i := 1; i < len(r.Windows); i++ {
		from, to := r.Windows[i-1].ToMS, r.Windows[i].FromMS
		if to-from < r.Plan.WindowMS/2 || slices.ContainsFunc(all, func(g bundle.SoakGap) bool { return g.FromMS < to && g.ToMS > from }) {
			continue
		}
		all = append(all, bundle.SoakGap{FromMS: from, ToMS: to, Why: unknownGap})
	}
	slices.SortFunc(all, func(a, b bundle.SoakGap) int { return cmp.Compare(a.FromMS, b.FromMS) })
	return all
}

// restarts returns the beginnings of the windows in which the target's process was another one than before.
func restarts(windows []bundle.SoakWindow) (all []time.Duration) {
	for _, key := range []string{keyStart, keyPIDStart} {
		last, known := 0.0, false
		for i := range windows {
			v, ok := windows[i].Resources[key]
			// The time of the start is computed from the uptime by some exporters, and moves by fractions.
			if ok && known && math.Abs(v-last) > 2 {
				all = append(all, ms(windows[i].FromMS))
			}
			if ok {
				last, known = v, true
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return all
}

// seriesOf returns what is judged over the windows.
func seriesOf(r *bundle.SoakReport, breaks []time.Duration) []trend.Series {
	var all []trend.Series
	warm := time.Duration(0)
	for i := range r.Windows {
		if r.Windows[i].Warmup {
			warm = ms(r.Windows[i].ToMS)
		}
	}
	blank := func(name, kind, unit string) trend.Series {
		return trend.Series{Name: name, Kind: trend.Kind(kind), Unit: unit, Window: ms(r.Plan.WindowMS), Warmup: warm, Breaks: breaks}
	}
	add := func(s trend.Series, value func(w *bundle.SoakWindow) (float64, bool)) {
		ops := 0.0
		for i := range r.Windows {
			w := &r.Windows[i]
			ops += float64(w.Streams.Completed)
			if v, ok := value(w); ok && !w.Partial {
				s.Points = append(s.Points, trend.Point{At: ms(w.ToMS), Value: v, Ops: ops})
			}
		}
		if len(s.Points) > 0 {
			all = append(all, s)
		}
	}
	for _, one := range resources {
		add(blank(one.name, one.kind, one.unit), one.value)
	}
	for _, l := range latencies {
		add(blank(l.name, "latency", "us"), func(w *bundle.SoakWindow) (float64, bool) {
			of := l.of(&w.Latency)
			return float64(l.value(of)), of.Count >= leastSamples && len(w.Injections) == 0
		})
	}
	return all
}

// leastSamples is the number of values that a percentile needs.
const leastSamples = 30

// latency is a percentile that is judged.
type latency struct {
	name  string
	of    func(*bundle.LoadLatencies) bundle.Latency
	value func(bundle.Latency) int64
}

var latencies = []latency{
	{"first event p50", func(l *bundle.LoadLatencies) bundle.Latency { return l.FirstEvent }, func(l bundle.Latency) int64 { return l.P50 }},
	{"first event p99", func(l *bundle.LoadLatencies) bundle.Latency { return l.FirstEvent }, func(l bundle.Latency) int64 { return l.P99 }},
	{"end of stream p50", func(l *bundle.LoadLatencies) bundle.Latency { return l.EndOfStream }, func(l bundle.Latency) int64 { return l.P50 }},
}

// driverRises reports whether the delay of the driver itself rose by more than half of what a latency did: then
// this machine became slower, and not the target.
func driverRises(r *bundle.SoakReport, s *bundle.SoakSeries) bool {
	var lags []float64
	for i := range r.Windows {
		if w := &r.Windows[i]; !w.Warmup && !w.Partial {
			lags = append(lags, float64(max(w.Latency.DriverLag.P99, w.Latency.StartLag.P99)))
		}
	}
	third := len(lags) / 3
	if third == 0 {
		return false
	}
	middle := func(v []float64) float64 { v = slices.Sorted(slices.Values(v)); return v[len(v)/2] }
	return middle(lags[len(lags)-third:])-middle(lags[:third]) > s.Change/2
}

// The finding of a kind, at most.
const mostFindings = 20

// findings returns what is wrong, the gravest first.
func findings(r *bundle.SoakReport, breaks []time.Duration) []bundle.SoakFinding {
	all := slices.Concat(lost(r), disagreements(r), restarted(r, breaks), gone(r), rising(r), unrecovered(r), unjudged(r))
	slices.SortStableFunc(all, func(a, b bundle.SoakFinding) int {
		switch {
		case a.Decides == b.Decides:
			return 0
		case a.Decides:
			return -1
		}
		return 1
	})
	return append([]bundle.SoakFinding{}, all...)
}

// lost returns the streams and the work that failed, first window first; the rest of the windows in one finding.
func lost(r *bundle.SoakReport) (all []bundle.SoakFinding) {
	more, windows := int64(0), 0
	for i := range r.Windows {
		w := &r.Windows[i]
		failed := w.Streams.Outcomes.Failed() - w.Hurt
		work := failedWork(w)
		if failed+work <= 0 || w.Verdict != bundle.LoadFail {
			continue
		}
		if len(all) == mostFindings {
			more, windows = more+failed+work, windows+1
			continue
		}
		text := fmt.Sprintf("window %d: %d of %d streams failed", w.Index, failed, w.Streams.Completed)
		if len(w.Examples) > 0 {
			text += ": " + w.Examples[0].Message
		}
		if failed <= 0 {
			text = fmt.Sprintf("window %d: %s", w.Index, w.Message)
		}
		all = append(all, bundle.SoakFinding{Kind: bundle.SoakLoss, Message: text, SinceMS: w.FromMS, FromWindow: w.Index, Decides: true})
	}
	if windows > 0 {
		all = append(all, bundle.SoakFinding{Kind: bundle.SoakLoss, Message: fmt.Sprintf("and %d more in %d later windows", more, windows), SinceMS: all[0].SinceMS, Decides: true})
	}
	return all
}

// disagreements returns the first window in which the counters disagreed with the ledger, and in how many they did.
func disagreements(r *bundle.SoakReport) []bundle.SoakFinding {
	var first *bundle.SoakWindow
	n := 0
	for i := range r.Windows {
		if w := &r.Windows[i]; w.Verdict == bundle.LoadFail && len(w.Metrics.Violations) > 0 && w.Metrics.Note == "" && !cuts(w) {
			if n++; first == nil {
				first = w
			}
		}
	}
	if first == nil {
		return nil
	}
	return []bundle.SoakFinding{{
		Kind: bundle.SoakCounters, Decides: true, SinceMS: first.FromMS, FromWindow: first.Index,
		Message: fmt.Sprintf("in %d of %d windows the counters disagree with the ledger, first in window %d: %s", n, len(r.Windows), first.Index, first.Metrics.Violations[0]),
	}}
}

func restarted(r *bundle.SoakReport, breaks []time.Duration) (all []bundle.SoakFinding) {
	for _, at := range breaks {
		// A restart while the soak did not run is not its business.
		paused := slices.ContainsFunc(r.Gaps, func(g bundle.SoakGap) bool { return g.Why == resumedGap && g.ToMS == at.Milliseconds() })
		all = append(all, bundle.SoakFinding{
			Kind: bundle.SoakRestart, Decides: !paused, SinceMS: at.Milliseconds(), Message: "the process of the target is another one than before: it was restarted",
		})
	}
	return all
}

func gone(r *bundle.SoakReport) (all []bundle.SoakFinding) {
	for _, g := range r.Gaps {
		if g.Why != resumedGap && g.Why != unknownGap {
			all = append(all, bundle.SoakFinding{Kind: bundle.SoakDown, Decides: true, SinceMS: g.FromMS, Message: fmt.Sprintf("for %v %s", ms(g.ToMS-g.FromMS).Round(time.Second), g.Why)})
		}
	}
	return all
}

// rising returns the leaks and drifts, and the steps.
func rising(r *bundle.SoakReport) (all []bundle.SoakFinding) {
	for i := range r.Series {
		s := &r.Series[i]
		f := bundle.SoakFinding{Kind: bundle.SoakLeak, Series: s.Name, Message: s.Message, Decides: true}
		switch {
		case s.Verdict == trend.Drifts && driverRises(r, s):
			s.Verdict, s.Reason = trend.Inconclusive, "the driver itself became slower, so this machine did"
			f.Kind, f.Decides, f.Message = bundle.SoakDrift, false, s.Message+"; but the driver itself became slower, so this machine did"
		case s.Verdict == trend.Drifts:
			f.Kind = bundle.SoakDrift
		case s.StepMS != nil:
			f.Decides = false
			if s.Kind == string(trend.Latency) {
				f.Kind = bundle.SoakDrift
			}
			f.SinceMS = *s.StepMS
		}
		if s.BeganMS != nil {
			f.SinceMS = *s.BeganMS
		}
		if s.BeganMS == nil && s.StepMS == nil {
			continue
		}
		f.FromWindow = windowAt(r, f.SinceMS)
		all = append(all, f)
	}
	return all
}

// windowAt returns the index of the window that had ended at a time.
func windowAt(r *bundle.SoakReport, at int64) int {
	for i := range r.Windows {
		if r.Windows[i].ToMS >= at {
			return r.Windows[i].Index
		}
	}
	return 0
}

func unrecovered(r *bundle.SoakReport) (all []bundle.SoakFinding) {
	for _, i := range r.Injections {
		if i.Lost > 0 {
			all = append(all, bundle.SoakFinding{
				Kind: bundle.SoakLoss, SinceMS: i.FromMS, FromWindow: windowAt(r, i.FromMS), Decides: true,
				Message: fmt.Sprintf("%d streams of the clients of the fault %s failed: %s", i.Lost, i.Kind, i.Example),
			})
		}
		if i.RecoveredMS == nil {
			all = append(all, bundle.SoakFinding{
				Kind: bundle.SoakInjected, SinceMS: i.FromMS, FromWindow: windowAt(r, i.FromMS), Decides: i.Why == "",
				Message: fmt.Sprintf("after %s (%s) the service was not as before%s", i.Kind, i.Message, why(i.Why)),
			})
		}
	}
	return all
}

func why(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// unjudged says which kinds of leaks could not be seen.
func unjudged(r *bundle.SoakReport) []bundle.SoakFinding {
	for i := range r.Series {
		if r.Series[i].Kind == string(trend.Memory) {
			return nil
		}
	}
	if len(r.Windows) == 0 {
		return nil
	}
	return []bundle.SoakFinding{{Kind: bundle.SoakLeak, Message: "leaks of memory and descriptors were not judged: the target has no process_* and go_* metrics; with --pid they are read from /proc on its machine"}}
}

// verdict returns the verdict and why it is not pass.
func verdict(r *bundle.SoakReport) (bundle.LoadVerdict, []string) {
	var reasons []string
	for _, f := range r.Findings {
		if f.Decides {
			reasons = append(reasons, f.Message)
		}
	}
	if len(reasons) > 0 {
		return bundle.LoadFail, reasons
	}
	if len(r.Windows) == 0 {
		return bundle.LoadInconclusive, []string{"no window was recorded"}
	}
	unsure := 0
	for i := range r.Windows {
		if r.Windows[i].Verdict == bundle.LoadInconclusive {
			if unsure++; unsure == 1 {
				reasons = append(reasons, fmt.Sprintf("window %d is inconclusive: %s", r.Windows[i].Index, r.Windows[i].Message))
			}
		}
	}
	if unsure*2 <= len(r.Windows) { // a busy moment of this machine is no reason
		reasons = nil
	}
	if last := &r.Windows[len(r.Windows)-1]; abandoned(last) {
		reasons = append(reasons, last.Message)
	}
	if len(r.Series) == 0 {
		reasons = append(reasons, "too short: no whole window was recorded")
	}
	for i := range r.Series {
		if s := &r.Series[i]; s.Verdict == trend.Inconclusive {
			text := "too short: " + s.Reason
			if s.N >= 8 {
				text = s.Name + ": " + s.Reason
			}
			reasons = append(reasons, text)
			break
		}
	}
	if len(reasons) > 0 {
		return bundle.LoadInconclusive, reasons
	}
	return bundle.LoadPass, nil
}

// events returns what changed when.
func events(r *bundle.SoakReport) []bundle.SoakEvent {
	var all []bundle.SoakEvent
	for _, g := range r.Gaps {
		all = append(all, bundle.SoakEvent{AtMS: g.FromMS, Kind: "gap", Message: fmt.Sprintf("%v: %s", ms(g.ToMS-g.FromMS).Round(time.Second), g.Why)})
	}
	for _, f := range r.Findings {
		kind := f.Kind
		if !f.Decides && f.Series != "" {
			kind = "step"
		}
		if f.Decides || f.Series != "" {
			all = append(all, bundle.SoakEvent{AtMS: f.SinceMS, Kind: kind, Message: f.Message})
		}
	}
	for _, i := range r.Injections {
		text := i.Message
		if i.RecoveredMS != nil {
			text += fmt.Sprintf("; as before %v after its end", ms(*i.RecoveredMS))
		}
		all = append(all, bundle.SoakEvent{AtMS: i.FromMS, Kind: "inject", Message: i.Kind + ": " + text})
	}
	for i := range r.Windows {
		for _, l := range r.Windows[i].Lost {
			all = append(all, bundle.SoakEvent{AtMS: r.Windows[i].FromMS + l.LostMS, Kind: "worker", Message: fmt.Sprintf("worker %d (%s, process %d) was lost: %s", l.Shard+1, l.Host, l.PID, l.Lost)})
		}
		for _, step := range r.Windows[i].Driver.ClockStepsMS {
			all = append(all, bundle.SoakEvent{AtMS: r.Windows[i].ToMS, Kind: "clock", Message: fmt.Sprintf("the clock of this machine was set by %.0f ms; times are those of the monotonic clock", step)})
		}
	}
	slices.SortStableFunc(all, func(a, b bundle.SoakEvent) int { return cmp.Compare(a.AtMS, b.AtMS) })
	return all
}
