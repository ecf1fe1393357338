package engine

import (
	"testing"
	"time"

	"assay/internal/base/machine"
)

// Waits stretch with the number of threads for each processor, after some seconds of them, and shrink again.
func TestWaitsStretchWithWhatSharesTheProcessors(t *testing.T) {
	t.Parallel()
	var c contention
	at := time.Unix(0, 0)
	looks := func(n, runnable int) {
		for range n {
			at = at.Add(contendEvery)
			c.look(machine.Contest{Runnable: runnable, Stalled: at.Sub(time.Unix(0, 0)) / 2}, at, 2)
		}
	}
	wants := func(least, most float64) {
		t.Helper()
		if got := c.stretch(); got < least || got > most {
			t.Errorf("waits stretch by %v, want %v to %v", got, least, most)
		}
	}
	wants(1, 1)
	looks(100, 1)
	wants(1, 1) // half a thread for each
	looks(1, 40)
	wants(1, 2) // a moment is no load
	looks(100, 12)
	wants(5.5, 6)
	looks(200, 1000)
	wants(mostStretch, mostStretch)
	looks(200, 1)
	wants(1, 1)
}
