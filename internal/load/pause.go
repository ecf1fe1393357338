package load

import (
	"context"
	"errors"
	"time"
)

// Pause stops the worker processes of a run for a time, as a suspended laptop or a frozen virtual machine would: nothing is
// read, and nothing is sent, while their connections stay open.
type Pause struct {
	// At is when they stop, since the start of the run, and For is how long they stand still.
	At, For time.Duration
}

// errNoPause is the error of a pause that this machine or this run cannot make.
var errNoPause = errors.New("a pause needs worker processes on this machine, and a system that can stop them")

// Sleep waits for a time; it returns false when ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
