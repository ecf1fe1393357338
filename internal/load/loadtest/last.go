package loadtest

import (
	"time"

	"assay/internal/load"
)

// Last is a sink that keeps the last result and nothing else, so it does not allocate.
type Last struct {
	Count  int // number of results
	Result load.Result
}

var _ load.Sink = (*Last)(nil)

// Ended keeps a result.
func (l *Last) Ended(r load.Result) { l.Count++; l.Result = r }

// Record does nothing.
func (*Last) Record(int, int, load.Metric, time.Duration) {}

// HungUp does nothing.
func (*Last) HungUp() {}

// Opening does nothing.
func (*Last) Opening() {}

// Started does nothing.
func (*Last) Started() {}

// Output does nothing.
func (*Last) Output(int, int, int) {}

// Killing does nothing.
func (*Last) Killing() {}

// Coalesced does nothing.
func (*Last) Coalesced(int) {}

// Unstamped does nothing.
func (*Last) Unstamped(int) {}

// ClockStepped does nothing.
func (*Last) ClockStepped(time.Duration) {}

// BackedOff does nothing.
func (*Last) BackedOff() {}

// Swept does nothing.
func (*Last) Swept(int) {}
