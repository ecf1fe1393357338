package load

import (
	"time"

	"assay/internal/record/bundle"
)

// Progress gets the progress of a run. One goroutine calls its methods.
type Progress interface {
	// Begin is called when the plan fits the machine and the target is reachable.
	Begin(headline string, duration time.Duration, count int)
	// Tick is called once a second.
	Tick(t Tick)
	// End is called when all streams have ended.
	End()
}

// Tick is one second of a run.
type Tick struct {
	Elapsed time.Duration
	// Open is how many streams are open now, Wanted how many the closed model keeps open (0
	// in the open model), and Rate how many began in the last second.
	Open, Wanted, Rate int64
	// FirstEvent, Gap and DriverLag are the distributions of the last second.
	FirstEvent, Gap, DriverLag bundle.Latency
	// Started, Completed, Failed and Outcomes count from the beginning of the run.
	Started, Completed, Failed int64
	Outcomes                   bundle.StreamOutcomes
	// Warming is set while the warm-up lasts.
	Warming bool
	// Ending is set when the schedule has ended and processes are being killed.
	Ending bool
}

// silent shows nothing.
type silent struct{}

var _ Progress = silent{}

func (silent) Begin(string, time.Duration, int) {}
func (silent) Tick(Tick)                        {}
func (silent) End()                             {}
