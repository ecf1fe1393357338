package bundle

// LoadMoment is what happened in one interval of a load run. The counts are those of the
// interval; Open is at its end.
type LoadMoment struct {
	// FromMS and ToMS are the bounds, since the first intended start: about a second apart, or
	// several seconds in a long run.
	FromMS int64 `json:"from_ms"`
	ToMS   int64 `json:"to_ms"`
	// Warmup is set if the interval began in the warm-up, which the distributions of the whole run leave out.
	Warmup bool `json:"warmup,omitempty"`
	// Due is the number of streams that the plan wanted to begin: those of the schedule and, in the
	// closed model, one for each that ended. Begun is how many the driver began.
	Due   int64 `json:"due"`
	Begun int64 `json:"begun"`
	// Open is the number of open streams.
	Open int64 `json:"open"`
	// Outcomes are the streams that ended.
	Outcomes StreamOutcomes `json:"outcomes"`
	// The distributions of the values that were recorded in the interval, in microseconds.
	FirstEvent  Latency `json:"first_event,omitzero"`
	Gap         Latency `json:"gap,omitzero"`
	EndOfStream Latency `json:"end_of_stream,omitzero"`
	DriverLag   Latency `json:"driver_lag,omitzero"`
}

// LoadCurve is one distribution of a load run as points of its percentile curve.
type LoadCurve struct {
	// Metric is a key of latency_us, such as first_event; with a class, "first_event/held".
	Metric string `json:"metric"`
	// Points are in ascending order of the quantile; the last one is the maximum, with quantile 1.
	Points []LoadPoint `json:"points"`
}

// LoadPoint says that Quantile of the values (from 0 to 1) are at most Value microseconds.
type LoadPoint struct {
	Quantile float64 `json:"q"`
	Value    int64   `json:"us"`
}
