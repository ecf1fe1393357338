package load

import (
	"maps"
	"slices"

	"assay/internal/bundle"
	"assay/internal/ledger"
)

// Schema names the report's format. Members may be added, and are never changed.
const Schema = "assay.load/v1"

// Verdict is what a run came to.
type Verdict string

// The verdicts.
const (
	Pass         Verdict = "pass"
	Fail         Verdict = "fail"
	Inconclusive Verdict = "inconclusive"
)

// Report is the result of a run. Its JSON is the format assay.load/v1.
type Report struct {
	Schema  string      `json:"schema"`
	Tool    bundle.Tool `json:"tool"`
	Verdict Verdict     `json:"verdict"`
	// Reasons say why the verdict is not pass.
	Reasons []string `json:"reasons,omitempty"`
	// Interrupted is set when the run did not come to its end.
	Interrupted bool `json:"interrupted,omitempty"`
	// Aborted says what ended the run before its time; "" when nothing did.
	Aborted    string            `json:"aborted,omitempty"`
	Target     TargetInfo        `json:"target"`
	Plan       PlanInfo          `json:"plan"`
	Streams    Streams           `json:"streams"`
	Latency    Latencies         `json:"latency_us"`
	Output     OutputInfo        `json:"output"`
	Ledger     Ledger            `json:"ledger"`
	Metrics    MetricsInfo       `json:"metrics"`
	Driver     Driver            `json:"driver"`
	Thresholds []ThresholdResult `json:"thresholds"`
	// Examples are the first messages of each outcome.
	Examples []Example `json:"examples"`
	// Classes are the classes of the plan, each with its outcomes; absent when there is one.
	Classes []ClassInfo `json:"classes,omitempty"`
	// DurationMS is how long the run took, from the first intended start to the last end.
	DurationMS int64 `json:"duration_ms"`
}

// TargetInfo is what was tested.
type TargetInfo struct {
	URL      string `json:"url"`
	Embedded bool   `json:"embedded,omitempty"`
	Profile  string `json:"profile"`
	Protocol string `json:"protocol"`
	Codec    string `json:"codec"`
	HTTP     string `json:"http"`
}

// PlanInfo is what was asked for.
type PlanInfo struct {
	Model   string  `json:"model"` // closed or open
	Streams int     `json:"streams,omitempty"`
	Rate    float64 `json:"rate,omitempty"`
	// Stages are rates in turn, and Arrivals how streams of a rate are spread: even or poisson.
	Stages   []StageInfo `json:"stages,omitempty"`
	Arrivals string      `json:"arrivals,omitempty"`
	WarmupMS int64       `json:"warmup_ms,omitempty"`
	// Drawn is set when the seed decided something: kills, hang-ups, starts at random.
	Drawn      bool   `json:"drawn,omitempty"`
	Seed       uint64 `json:"seed"`
	RampMS     int64  `json:"ramp_ms,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	Count      int    `json:"count,omitempty"`
	Command    string `json:"command"`
	Check      string `json:"check"`
}

// StageInfo is one stage of a rate.
type StageInfo struct {
	DurationMS int64   `json:"duration_ms"`
	From       float64 `json:"from"`
	To         float64 `json:"to"`
}

// ClassInfo is one class of streams.
type ClassInfo struct {
	Name     string  `json:"name"`
	Share    float64 `json:"share"`
	Protocol string  `json:"protocol"`
	Codec    string  `json:"codec"`
	Command  string  `json:"command"`
	Check    string  `json:"check"`
	// Completed is how many of its streams ended; it is the sum of the outcomes.
	Completed int64          `json:"completed"`
	Outcomes  Outcomes       `json:"outcomes"`
	Latency   ClassLatencies `json:"latency_us"`
}

// ClassLatencies are the distributions of a class's streams, in microseconds. What
// tells of the driver is not of a class.
type ClassLatencies struct {
	FirstEvent  Latency `json:"first_event"`
	Gap         Latency `json:"gap"`
	EndOfStream Latency `json:"end_of_stream"`
	// GapCorrected and FromSent are empty where the engine or the class has none.
	GapCorrected Latency `json:"gap_corrected,omitzero"`
	FromSent     Latency `json:"from_sent,omitzero"`
}

// at is the distribution of a metric; nil for one that is the driver's.
func (l *ClassLatencies) at(m Metric) *Latency {
	return map[Metric]*Latency{
		FirstEvent: &l.FirstEvent, Gap: &l.Gap, EndOfStream: &l.EndOfStream, GapCorrected: &l.GapCorrected, FromSent: &l.FromSent,
	}[m]
}

// Streams counts streams.
type Streams struct {
	// Wanted is how many were to begin in all where that is known beforehand, else how many were to be open.
	Wanted int64 `json:"wanted"`
	// Opened is how many had a start event.
	Opened int64 `json:"opened"`
	// OpenPeak is how many were open at one time at most, from start event to end.
	OpenPeak int64 `json:"open_peak"`
	// Completed is how many ended; it is the sum of the outcomes.
	Completed int64    `json:"completed"`
	Outcomes  Outcomes `json:"outcomes"`
	// Offered is the part of the planned load that the driver tried to open, from 0 to 1.
	Offered float64 `json:"offered"`
	// Disconnected is how many the driver hung up on because the plan asked for it.
	Disconnected int64 `json:"disconnected,omitempty"`
}

// Latencies are the distributions, in microseconds. See the metrics for what they measure.
type Latencies struct {
	FirstEvent  Latency `json:"first_event"`
	Gap         Latency `json:"gap"`
	EndOfStream Latency `json:"end_of_stream"`
	StartLag    Latency `json:"start_lag"`
	// DriverLag, GapCorrected and FromSent are empty where the engine or the plan has none.
	DriverLag    Latency `json:"driver_lag,omitzero"`
	GapCorrected Latency `json:"gap_corrected,omitzero"`
	FromSent     Latency `json:"from_sent,omitzero"`
}

// at is the distribution of a metric.
func (l *Latencies) at(m Metric) *Latency {
	return [numMetrics]*Latency{&l.FirstEvent, &l.Gap, &l.EndOfStream, &l.StartLag, &l.DriverLag, &l.GapCorrected, &l.FromSent}[m]
}

// OutputInfo is what the streams printed.
type OutputInfo struct {
	Events int64 `json:"events"`
	Bytes  int64 `json:"bytes"`
	// Clamped is how many measured values were out of the histograms' range.
	Clamped int64 `json:"clamped"`
	// Coalesced is how many events were read together with a later one, so that when
	// they came is not known and no gap was measured.
	Coalesced int64 `json:"coalesced"`
}

// Ledger is what the driver did: started = ok + error + killed + open + unseen.
type Ledger struct {
	Started int64 `json:"started"`
	OK      int64 `json:"ok"`
	Error   int64 `json:"error"`
	Killed  int64 `json:"killed"`
	Open    int64 `json:"open"`
	// Unseen is how many of them ended by themselves after the driver had hung up: as
	// ok or as error, and counted under neither.
	Unseen int64 `json:"unseen,omitempty"`
	// Uncertain is how many processes the gateway may have begun or ended without our knowing.
	Uncertain int64 `json:"uncertain"`
}

// MetricsInfo is what the gateway's counters said.
type MetricsInfo struct {
	// Scraped is how many times they were read; 0 when there are none.
	Scraped    int      `json:"scraped"`
	Violations []string `json:"violations"`
	// Note says why nothing was compared, or why violations do not count.
	Note string `json:"note,omitempty"`
	// Before and After are the counters around the run.
	Before *CounterValues `json:"before,omitempty"`
	After  *CounterValues `json:"after,omitempty"`
}

// CounterValues are the process counters of one scrape.
type CounterValues struct {
	Started float64 `json:"started"`
	OK      float64 `json:"ok"`
	Error   float64 `json:"error"`
	Killed  float64 `json:"killed"`
	Active  float64 `json:"active"`
}

func valuesOf(c ledger.Counters) *CounterValues {
	return &CounterValues{Started: c.Started, OK: c.OK, Error: c.Error, Killed: c.Killed, Active: c.Active}
}

// Driver is what the run cost this process; with the embedded gateway, both together.
type Driver struct {
	CPUSeconds   float64 `json:"cpu_seconds"`
	RSSPeakBytes int64   `json:"rss_peak_bytes"`
	Engine       string  `json:"engine"`
	// Processes is how many worker processes the plan was shared out over; absent for none.
	Processes int `json:"processes,omitempty"`
	// UnstampedReads is how many reads had no time of arrival from the kernel, of an
	// engine that takes it; theirs is the driver's own.
	UnstampedReads int64 `json:"unstamped_reads,omitempty"`
	// ClockStepsMS are jumps of this machine's clock during the run, in milliseconds.
	ClockStepsMS []float64 `json:"clock_steps_ms,omitempty"`
}

// Exit is the program's exit code.
func (r *Report) Exit() int {
	switch {
	case r.Interrupted:
		return 130
	case r.Verdict == Fail:
		return 1
	case r.Verdict == Inconclusive:
		return 5
	}
	return 0
}

// ledgerOf is the ledger of what was counted.
func ledgerOf(b books) Ledger {
	l := Ledger{
		OK: b.fates[EndedOK], Error: b.fates[EndedError], Killed: b.fates[FateKilled] + b.swept,
		Open: b.fates[LeftOpen], Unseen: b.fates[EndedUnseen], Uncertain: max(0, b.uncertain-b.swept),
	}
	l.Started = l.OK + l.Error + l.Killed + l.Open + l.Unseen
	return l
}

// sortExamples brings examples into an order that does not depend on time.
func sortExamples(all []Example) []Example {
	out := slices.Clone(all)
	names := outcomeNames()
	order := maps.Collect(func(yield func(string, int) bool) {
		for i, n := range names {
			if !yield(n, i) {
				return
			}
		}
	})
	slices.SortStableFunc(out, func(a, b Example) int {
		if d := order[a.Outcome] - order[b.Outcome]; d != 0 {
			return d
		}
		return int(a.Stream - b.Stream)
	})
	if out == nil {
		out = []Example{}
	}
	return out
}
