package bundle

import "time"

// LoadSchema names the version of the JSON form of a load report. Members may be added,
// and are never changed.
const LoadSchema = "assay.load/v1"

// LoadVerdict is the verdict of a load run.
type LoadVerdict string

// The verdicts.
const (
	LoadPass         LoadVerdict = "pass"
	LoadFail         LoadVerdict = "fail"
	LoadInconclusive LoadVerdict = "inconclusive"
)

// LoadReport is the result of a load run: load.json of its bundle, and the model of
// `load --format json`.
type LoadReport struct {
	Schema  string      `json:"schema"`
	Tool    Tool        `json:"tool"`
	Verdict LoadVerdict `json:"verdict"`
	// Reasons say why the verdict is not pass.
	Reasons []string `json:"reasons,omitempty"`
	// Interrupted is set if the run was interrupted.
	Interrupted bool `json:"interrupted,omitempty"`
	// Aborted says what ended the run early; "" if nothing did.
	Aborted string      `json:"aborted,omitempty"`
	Target  LoadTarget  `json:"target"`
	Plan    LoadPlan    `json:"plan"`
	Streams LoadStreams `json:"streams"`
	// Rates are absent if the run took less than a millisecond.
	Rates LoadRates `json:"per_second,omitzero"`
	// Sandboxes are those of a run through a control plane; absent for any other.
	Sandboxes  *LoadSandboxes  `json:"sandboxes,omitempty"`
	Latency    LoadLatencies   `json:"latency_us"`
	Output     LoadOutput      `json:"output"`
	Ledger     LoadLedger      `json:"ledger"`
	Metrics    LoadMetrics     `json:"metrics"`
	Driver     LoadDriver      `json:"driver"`
	Thresholds []LoadThreshold `json:"thresholds"`
	// Examples are the first messages of each outcome.
	Examples []LoadExample `json:"examples"`
	// Classes are the classes of the plan, each with its outcomes; absent if there is one.
	Classes []LoadClass `json:"classes,omitempty"`
	// Timeline is the run in at most 600 intervals of as many seconds each.
	Timeline []LoadMoment `json:"timeline,omitempty"`
	// Curves are the distributions of latency_us as percentile curves, of at most 60 points each.
	Curves []LoadCurve `json:"curves,omitempty"`
	// Workers are the worker processes that shared the plan; absent for none.
	Workers []LoadWorker `json:"workers,omitempty"`
	// Started is the first intended start; absent in reports of older versions.
	Started time.Time `json:"started,omitzero"`
	// DurationMS is the time from the first intended start to the last end.
	DurationMS int64 `json:"duration_ms"`
}

// Exit returns the exit code of the run.
func (r *LoadReport) Exit() int {
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

// LoadTarget is the gateway under test.
type LoadTarget struct {
	URL      string `json:"url"`
	Embedded bool   `json:"embedded,omitempty"`
	Profile  string `json:"profile"`
	Protocol string `json:"protocol"`
	Codec    string `json:"codec"`
	HTTP     string `json:"http"`
}

// LoadPlan is the requested load.
type LoadPlan struct {
	Model   string  `json:"model"` // closed or open
	Streams int     `json:"streams,omitempty"`
	Rate    float64 `json:"rate,omitempty"`
	// Stages are successive rates, and Arrivals is how the streams of a rate are spread: even or poisson.
	Stages   []LoadStage `json:"stages,omitempty"`
	Arrivals string      `json:"arrivals,omitempty"`
	WarmupMS int64       `json:"warmup_ms,omitempty"`
	// Drawn is set if the seed decided something: kills, disconnects, random starts.
	Drawn      bool   `json:"drawn,omitempty"`
	Seed       uint64 `json:"seed"`
	RampMS     int64  `json:"ramp_ms,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	Count      int    `json:"count,omitempty"`
	Command    string `json:"command"`
	Check      string `json:"check"`
	// Note says what stands for the start event, where the protocol has none.
	Note string `json:"note,omitempty"`
}

// LoadStage is one stage of a rate.
type LoadStage struct {
	DurationMS int64   `json:"duration_ms"`
	From       float64 `json:"from"`
	To         float64 `json:"to"`
}

// LoadClass is one class of streams.
type LoadClass struct {
	Name     string  `json:"name"`
	Share    float64 `json:"share"`
	Protocol string  `json:"protocol"`
	Codec    string  `json:"codec"`
	Command  string  `json:"command"`
	Check    string  `json:"check"`
	// Completed is the number of its streams that ended: the sum of the outcomes.
	Completed int64              `json:"completed"`
	Outcomes  StreamOutcomes     `json:"outcomes"`
	Latency   LoadClassLatencies `json:"latency_us"`
}

// LoadClassLatencies are the distributions of the streams of a class, in microseconds.
// Delays of the driver belong to no class.
type LoadClassLatencies struct {
	FirstEvent  Latency `json:"first_event"`
	Gap         Latency `json:"gap"`
	EndOfStream Latency `json:"end_of_stream"`
	// GapCorrected and FromSent are empty if the engine or the class has none.
	GapCorrected Latency `json:"gap_corrected,omitzero"`
	FromSent     Latency `json:"from_sent,omitzero"`
}

// LoadStreams counts streams.
type LoadStreams struct {
	// Wanted is the number of streams to begin in all if that is known before the run, else the number to keep open.
	Wanted int64 `json:"wanted"`
	// Begun is the number of streams that the driver began, whether or not it could open them.
	Begun int64 `json:"begun"`
	// Opened is the number of streams with a start event.
	Opened int64 `json:"opened"`
	// OpenPeak is the largest number that was open at one time, from start event to end.
	OpenPeak int64 `json:"open_peak"`
	// Completed is the number that ended: the sum of the outcomes.
	Completed int64          `json:"completed"`
	Outcomes  StreamOutcomes `json:"outcomes"`
	// Offered is the part of the planned load that the driver tried to open, from 0 to 1.
	Offered float64 `json:"offered"`
	// Disconnected is the number that the driver disconnected because the plan asked for it.
	Disconnected int64 `json:"disconnected,omitempty"`
	// BackedOff is how often, in the closed model, the place of a stream that failed before its
	// start event stayed empty for a pause that doubles with each failure in a row.
	BackedOff int64 `json:"backed_off,omitempty"`
}

// LoadRates are averages per second.
type LoadRates struct {
	// Begun are the streams that the driver began, per second of the schedule: of the duration
	// of the plan or, without one, of the run.
	Begun float64 `json:"begun"`
	// Completed are the streams that ended, and Events the output events, per second of the run.
	Completed float64 `json:"completed"`
	Events    float64 `json:"events"`
}

// LoadSandboxes are the sandboxes that a run had created, and that its streams were spread over.
type LoadSandboxes struct {
	// ControlPlane is the URL of the control plane, and Template the template of every sandbox.
	ControlPlane string `json:"control_plane"`
	Template     string `json:"template"`
	// Wanted = Created + Failed. A created sandbox has run a command.
	Wanted  int64 `json:"wanted"`
	Created int64 `json:"created"`
	Failed  int64 `json:"failed"`
	// Failures counts the failed sandboxes: by the status of the creation, else under no_response,
	// not_ready or no_command.
	Failures map[string]int64 `json:"failures,omitempty"`
	// Messages are the different messages of the failures, at most five.
	Messages []string `json:"messages,omitempty"`
	// PerSecond is the number of created sandboxes per second, until all of them were ready.
	PerSecond float64 `json:"per_second"`
	// Create is the time from the call that creates a sandbox to its response, and Ready that to the
	// end of the first command in the sandbox, in microseconds.
	Create Latency `json:"create_us"`
	Ready  Latency `json:"ready_us"`
	// Deleted is the number of sandboxes that were deleted at the end, and Left are the ids of those
	// that were not.
	Deleted int64    `json:"deleted"`
	Left    []string `json:"left,omitempty"`
}

// LoadLatencies are the distributions of a run, in microseconds.
type LoadLatencies struct {
	FirstEvent  Latency `json:"first_event"`
	Gap         Latency `json:"gap"`
	EndOfStream Latency `json:"end_of_stream"`
	StartLag    Latency `json:"start_lag"`
	// DriverLag, GapCorrected and FromSent are empty if the engine or the plan has none.
	DriverLag    Latency `json:"driver_lag,omitzero"`
	GapCorrected Latency `json:"gap_corrected,omitzero"`
	FromSent     Latency `json:"from_sent,omitzero"`
	// Connect is the time in which a TCP connection was made, TLSFull that of a complete TLS handshake
	// on it, and TLSResumed that of a handshake that resumed an earlier session. Failed ones do not count.
	Connect    Latency `json:"connect,omitzero"`
	TLSFull    Latency `json:"tls,omitzero"`
	TLSResumed Latency `json:"tls_resumed,omitzero"`
}

// Latency is one distribution, in microseconds.
type Latency struct {
	Count int64 `json:"count"`
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P99   int64 `json:"p99"`
	P999  int64 `json:"p999"`
	Max   int64 `json:"max"`
}

// LoadOutput is the output of all streams.
type LoadOutput struct {
	Events int64 `json:"events"`
	Bytes  int64 `json:"bytes"`
	// Clamped is the number of measured values outside the range of the histograms.
	Clamped int64 `json:"clamped"`
	// Coalesced is the number of events that were read together with a later one, so that
	// their time is unknown and no gap was measured.
	Coalesced int64 `json:"coalesced"`
}

// LoadLedger is the driver's own count of processes: started = ok + error + killed + open + unseen.
type LoadLedger struct {
	Started int64 `json:"started"`
	OK      int64 `json:"ok"`
	Error   int64 `json:"error"`
	Killed  int64 `json:"killed"`
	Open    int64 `json:"open"`
	// Unseen is the number of processes that ended after the driver had disconnected: as ok
	// or as error, and counted under neither.
	Unseen int64 `json:"unseen,omitempty"`
	// HungUp is how many of Unseen the gateway may also have killed, because its protocol ends
	// the process when the client disconnects: as ok, as error or as killed.
	HungUp int64 `json:"hung_up,omitempty"`
	// Uncertain is the number of processes that the gateway may have started or ended unseen by the driver.
	Uncertain int64 `json:"uncertain"`
}

// LoadMetrics compares the gateway's counters with the ledger.
type LoadMetrics struct {
	// Scraped is the number of scrapes; 0 if there are no counters.
	Scraped int `json:"scraped"`
	// Missed is the number of scrapes during the run that had no whole answer in time. They prove nothing.
	Missed     int      `json:"missed,omitempty"`
	Violations []string `json:"violations"`
	// Note says why nothing was compared, or why violations do not count.
	Note string `json:"note,omitempty"`
	// Before and After are the counters around the run.
	Before *LoadCounters `json:"before,omitempty"`
	After  *LoadCounters `json:"after,omitempty"`
}

// LoadCounters are the process counters of one scrape.
type LoadCounters struct {
	Started float64 `json:"started"`
	OK      float64 `json:"ok"`
	Error   float64 `json:"error"`
	Killed  float64 `json:"killed"`
	Active  float64 `json:"active"`
}

// LoadDriver is the cost of the run in this process; with the embedded gateway, of both together.
type LoadDriver struct {
	CPUSeconds   float64 `json:"cpu_seconds"`
	RSSPeakBytes int64   `json:"rss_peak_bytes"`
	Engine       string  `json:"engine"`
	// Loops is the number of event loops in all processes; absent for an engine without.
	Loops int `json:"loops,omitempty"`
	// Processes is the number of worker processes that shared the plan; absent for none.
	Processes int `json:"processes,omitempty"`
	// UnstampedReads is the number of reads without the kernel's time of arrival, of an
	// engine that takes it; they have the driver's own time.
	UnstampedReads int64 `json:"unstamped_reads,omitempty"`
	// ClockStepsMS are jumps of this machine's clock during the run, in milliseconds.
	ClockStepsMS []float64 `json:"clock_steps_ms,omitempty"`
}

// LoadThreshold is the result of one threshold.
type LoadThreshold struct {
	// Expr is the condition as given.
	Expr string `json:"expr"`
	// Observed has the measured values in it.
	Observed string `json:"observed"`
	// OK is nil if there was nothing to decide on: no samples, or an expression without a value.
	OK *bool `json:"ok"`
	// Why says why OK is nil.
	Why string `json:"why,omitempty"`
}

// LoadExample is one stream that did not end as it should.
type LoadExample struct {
	Stream  int64  `json:"stream"`
	Outcome string `json:"outcome"`
	Message string `json:"message"`
	// Times is the number of streams that ended so, with the same message.
	Times int64 `json:"times"`
}
