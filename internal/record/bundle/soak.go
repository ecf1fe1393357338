package bundle

import "time"

// SoakSchema names the version of the JSON form of a soak report. Members may be added,
// and are never changed.
const SoakSchema = "assay.soak/v1"

// SoakReport is the result of a soak: soak.json of its bundle, and the model of
// `soak --format json`. A soak is a sequence of windows, each a load run with its own ledger.
type SoakReport struct {
	Schema  string      `json:"schema"`
	Tool    Tool        `json:"tool"`
	Run     string      `json:"run"` // id of the run
	Verdict LoadVerdict `json:"verdict"`
	// Reasons say why the verdict is not pass, the gravest first.
	Reasons []string `json:"reasons,omitempty"`
	// Interrupted is set if the soak ended before its duration. It can be resumed.
	Interrupted bool       `json:"interrupted,omitempty"`
	Target      LoadTarget `json:"target"`
	Plan        SoakPlan   `json:"plan"`
	Started     time.Time  `json:"started"`
	// DurationMS is the time from the start to the last end, gaps included.
	DurationMS int64 `json:"duration_ms"`
	// Gaps are the times in which the soak did not run.
	Gaps []SoakGap `json:"gaps,omitempty"`
	// Findings are what is wrong, the gravest first.
	Findings []SoakFinding `json:"findings"`
	// Events are what changed when, in the order of time.
	Events []SoakEvent `json:"events,omitempty"`
	// Series are the verdicts on everything that was measured over the windows.
	Series []SoakSeries `json:"series"`
	// Injections are the faults that were injected, with the time until the service was as before.
	Injections []SoakInjection `json:"injections,omitempty"`
	// Windows are in the order of time.
	Windows []SoakWindow `json:"windows"`
	// Totals are the sums over the windows.
	Totals SoakTotals `json:"totals"`
	Driver LoadDriver `json:"driver"`
}

// Exit returns the exit code of the soak.
func (r *SoakReport) Exit() int {
	switch {
	case r.Interrupted:
		return 130
	case r.Verdict == LoadFail:
		return 1
	case r.Verdict == LoadInconclusive:
		return 5
	}
	return 0
}

// SoakPlan is what was asked for.
type SoakPlan struct {
	DurationMS int64  `json:"duration_ms"`
	WindowMS   int64  `json:"window_ms"`
	WarmupMS   int64  `json:"warmup_ms"` // not judged for trends
	Seed       uint64 `json:"seed"`
	// Classes are the kinds of work in the mix, with their shares.
	Classes []SoakClass `json:"classes"`
	// Rate is how many operations begin per second, and Held how many streams are kept open.
	Rate float64 `json:"rate,omitempty"`
	Held int     `json:"held,omitempty"`
	// Inject are the kinds of faults that were asked for.
	Inject []string `json:"inject,omitempty"`
	// Confidence is the probability that a soak of a gateway without leak or drift has no finding by a trend.
	Confidence float64 `json:"confidence"`
}

// SoakClass is one kind of work.
type SoakClass struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
	// Needs is the feature of the target that the class needs; "" is none. Absent is set if
	// the target does not have it, so that the class did not run.
	Needs  string `json:"needs,omitempty"`
	Absent bool   `json:"absent,omitempty"`
}

// SoakGap is a time in which the soak did not run.
type SoakGap struct {
	FromMS int64  `json:"from_ms"`
	ToMS   int64  `json:"to_ms"`
	Why    string `json:"why"`
}

// The kinds of findings.
const (
	SoakLoss     = "loss"     // streams that failed, bytes that are missing or wrong
	SoakLeak     = "leak"     // memory, descriptors, goroutines, entries or a gauge that rise
	SoakDrift    = "drift"    // a latency that rises
	SoakCounters = "counters" // counters that disagree with the ledger
	SoakRestart  = "restart"  // the target's process was replaced
	SoakDown     = "down"     // the target was unreachable
	SoakInjected = "injected" // the service was not as before after an injected fault
)

// SoakFinding is one thing that is wrong.
type SoakFinding struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	// Series is the name of the series, for a leak or drift.
	Series string `json:"series,omitempty"`
	// SinceMS is when it began, since the start; FromWindow is the window, counted from 1.
	SinceMS    int64 `json:"since_ms"`
	FromWindow int   `json:"from_window,omitempty"`
	// Decides is set if the finding makes the verdict fail; else it is worth knowing.
	Decides bool `json:"decides"`
}

// SoakEvent is something that changed.
type SoakEvent struct {
	AtMS    int64  `json:"at_ms"`
	Kind    string `json:"kind"` // a kind of finding, or gap, step, clock, inject, recovered
	Message string `json:"message"`
}

// SoakSeries is the verdict on one series of values, one per window.
type SoakSeries struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // memory, descriptors, goroutines, entries, gauge or latency
	Unit string `json:"unit"` // bytes, us, or "" for a number of things
	// Verdict is steady, leaks, drifts or inconclusive, and Reason says why it is not the plain one.
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
	// N is the number of windows judged, and Missing the number of absent ones between them.
	N       int `json:"n"`
	Missing int `json:"missing,omitempty"`
	// Slope is per hour: in units, for a latency as a part of its median. Low and High bound it
	// at Confidence; they are absent if there were too few windows.
	Slope      float64  `json:"slope_per_hour"`
	Low        *float64 `json:"slope_low,omitempty"`
	High       *float64 `json:"slope_high,omitempty"`
	Change     float64  `json:"change"`
	PerOps     float64  `json:"per_thousand_ops,omitempty"`
	Confidence float64  `json:"confidence"`
	// BeganMS is when a rise began, between BeganFromMS and BeganToMS; absent if there is none.
	BeganMS     *int64 `json:"began_ms,omitempty"`
	BeganFromMS int64  `json:"began_from_ms,omitempty"`
	BeganToMS   int64  `json:"began_to_ms,omitempty"`
	// StepMS and StepSize are a rise that has ended; absent if there is none.
	StepMS   *int64  `json:"step_ms,omitempty"`
	StepSize float64 `json:"step_size,omitempty"`
	// Detectable is the smallest change (unit as Slope) that this soak would have found with a
	// probability of 90 %; 0 is none, the soak was too short.
	Detectable float64 `json:"detectable,omitempty"`
	// NeedWindows and NeedMS are what a soak needs to show a change of NeedChange.
	NeedWindows int     `json:"need_windows,omitempty"`
	NeedMS      int64   `json:"need_ms,omitempty"`
	NeedChange  float64 `json:"need_change,omitempty"`
	// Message is the verdict in one sentence.
	Message string `json:"message"`
	// Points are the values that were judged.
	Points []SoakPoint `json:"points"`
}

// SoakPoint is one value of a series.
type SoakPoint struct {
	AtMS  int64   `json:"at_ms"`
	Value float64 `json:"value"`
	// Warmup is set if the value was not judged.
	Warmup bool `json:"warmup,omitempty"`
}

// SoakInjection is one injected fault.
type SoakInjection struct {
	Kind   string `json:"kind"`
	FromMS int64  `json:"from_ms"`
	ToMS   int64  `json:"to_ms"`
	// Message says what was done, with its figures.
	Message string `json:"message"`
	// Cuts is set if the fault can end streams of the soak, and Hurt is the number that it ended; they are no loss.
	Cuts bool  `json:"cuts,omitempty"`
	Hurt int64 `json:"hurt"`
	// Lost is the number of streams of the fault's own clients that failed, and Example is the first failure.
	Lost    int64  `json:"lost,omitempty"`
	Example string `json:"example,omitempty"`
	// RecoveredMS is the time from the end of the fault until the service was as before; nil if
	// it was not, or if nothing could be measured: Why says which.
	RecoveredMS *int64 `json:"recovered_ms"`
	Why         string `json:"why,omitempty"`
}

// SoakWindow is one window.
type SoakWindow struct {
	Index  int   `json:"index"` // from 1
	FromMS int64 `json:"from_ms"`
	ToMS   int64 `json:"to_ms"`
	// Warmup is set if the window is not judged for trends. Partial is set if it was cut short.
	Warmup  bool `json:"warmup,omitempty"`
	Partial bool `json:"partial,omitempty"`
	// Verdict is that of the window alone, and Message says why it is not pass.
	Verdict LoadVerdict   `json:"verdict"`
	Message string        `json:"message,omitempty"`
	Streams LoadStreams   `json:"streams"`
	Latency LoadLatencies `json:"latency_us"`
	Ledger  LoadLedger    `json:"ledger"`
	Metrics LoadMetrics   `json:"metrics"`
	Classes []LoadClass   `json:"classes,omitempty"`
	// Work counts what is no stream: file reads, sockets, sessions. The keys are names of classes.
	Work map[string]SoakWork `json:"work,omitempty"`
	// Resources are the values of the target at the end of the window, at rest: keys such as
	// process_resident_memory_bytes, process_open_fds, go_goroutines, list_entries, active.
	Resources map[string]float64 `json:"resources,omitempty"`
	// Minima are the smallest values during the window, with the same keys.
	Minima map[string]float64 `json:"minima,omitempty"`
	// Events and Bytes are the output of the streams.
	Events int64 `json:"events"`
	Bytes  int64 `json:"bytes"`
	// Examples are the first messages of each failure.
	Examples []LoadExample `json:"examples,omitempty"`
	// Injections are the faults that were injected, and Hurt is the number of streams that they ended: no loss.
	Injections []SoakInjection `json:"injections,omitempty"`
	Hurt       int64           `json:"hurt,omitempty"`
	// Lost are the workers that were lost in the window. The windows behind it go on without them.
	Lost []LoadWorker `json:"lost,omitempty"`
	// Driver is the cost of the window.
	Driver LoadDriver `json:"driver"`
}

// SoakWork counts operations of one class.
type SoakWork struct {
	Done   int64 `json:"done"`
	Failed int64 `json:"failed"`
	// Late is the number of failures because something took too long.
	Late int64 `json:"late,omitempty"`
	// Latency is the time of one operation, in microseconds.
	Latency Latency `json:"latency_us"`
	// Example is the first failure.
	Example string `json:"example,omitempty"`
}

// SoakTotals are the sums over the windows.
type SoakTotals struct {
	Streams  int64          `json:"streams"`
	Outcomes StreamOutcomes `json:"outcomes"`
	Events   int64          `json:"events"`
	Bytes    int64          `json:"bytes"`
	Ledger   LoadLedger     `json:"ledger"`
	// Work counts what is no stream, by class.
	Work map[string]SoakWork `json:"work,omitempty"`
}
