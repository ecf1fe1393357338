package bundle

import "time"

// LoadRun is a stored load run.
type LoadRun struct {
	Report *LoadReport
	// Intervals are those of latency.hlog, by series and in the order of the file; nil for
	// a report alone.
	Intervals map[LoadSeries][]LoadInterval
}

// LoadSeries is one metric of all streams of a run, or of those of a class.
type LoadSeries struct {
	// Metric is a key of LoadLatencies: first_event.
	Metric string
	// Class is the name of the class; "" for all streams.
	Class string
}

// String is the tag of the series in latency.hlog: "gap", or "gap/held" for a class.
func (s LoadSeries) String() string {
	if s.Class == "" {
		return s.Metric
	}
	return s.Metric + "/" + s.Class
}

// LoadInterval is one series over one interval of a run.
type LoadInterval struct {
	Start, Length time.Duration // since the run began
	Latency       Latency
}
