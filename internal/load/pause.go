package load

import (
	"context"
	"errors"
	"time"

	"assay/internal/crash"
	"assay/internal/machine"
)

// Pause stops the worker processes of a run for a time, as a suspended laptop or a frozen virtual machine would: nothing is
// read, and nothing is sent, while their connections stay open.
type Pause struct {
	// At is when they stop, since the start of the run, and For is how long they stand still.
	At, For time.Duration
}

// errNoPause is the error of a pause that this machine or this run cannot make.
var errNoPause = errors.New("a pause needs worker processes, on a system that can stop them")

// pause stops the workers as planned, until ctx ends. The result waits until they go on.
func (p *Pause) pause(ctx context.Context, workers []*worker) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer crash.Catch()
		defer close(done)
		if !sleep(ctx, p.At) {
			return
		}
		for _, w := range workers {
			_ = machine.Pause(w.cmd.Process.Pid) // one that has ended needs no pause
		}
		sleep(ctx, p.For)
		for _, w := range workers {
			_ = machine.Continue(w.cmd.Process.Pid)
		}
	}()
	return func() { <-done }
}

// sleep waits for a time; it returns false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
