package bundle

// LoadWorker is one of the worker processes that shared the plan of a load run.
type LoadWorker struct {
	// Shard is its part of the plan, from 0: it began every N-th stream of N workers, beginning with this one.
	Shard int `json:"shard"`
	// Host is the name of its machine, PID its process there, and Version that of its program.
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
	// OffsetUS is how far the clock of its machine is behind that of the coordinator, in microseconds, and OffsetErrorUS the
	// bound of the error of that. The common start is corrected by the offset.
	OffsetUS      int64 `json:"offset_us"`
	OffsetErrorUS int64 `json:"offset_error_us"`
	// LateUS is how much later than the common start it began, by its own clock.
	LateUS int64 `json:"late_us,omitempty"`
	// Begun is the number of streams that it began, and Completed the number of those that ended, by its windows. The
	// difference is what is unknown of a lost worker.
	Begun     int64 `json:"begun"`
	Completed int64 `json:"completed"`
	// Windows is the number of windows that it published, all of which are in the report.
	Windows int `json:"windows"`
	// Lost says how the worker was lost, and LostMS when, since the start of the run: absent if it was lost in an earlier
	// window of a soak.
	Lost   string `json:"lost,omitempty"`
	LostMS int64  `json:"lost_ms,omitempty"`
}
