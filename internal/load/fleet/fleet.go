package fleet

import (
	"context"
	"errors"
	"time"

	"assay/internal/load"
)

// Options configure a fleet. Each field documents its default.
type Options struct {
	// Version is the program's. Workers of another version are refused.
	Version string
	// Line is the command line of this program that calls Serve: the workers of a fleet on this machine.
	Line []string
	// Bus is where workers from anywhere come to; nil is a bus of this process, for workers on this machine.
	Bus *Bus
	// Run is the id of the run on the bus; default that of the load run.
	Run string
	// Policy is what becomes of the run if a worker is lost; default Abort.
	Policy Policy
	// Patience is how long a worker may be silent before it counts as lost; default 15 s.
	Patience time.Duration
	// Wait is how long the workers may take to come; default a minute for those of this machine, else 10 min.
	Wait time.Duration
	// Rounds says that several load runs follow each other, as in a soak: the workers stay until Close.
	Rounds bool
	// Say gets a line about a worker that came, or that the run waits for; nil drops it.
	Say func(line string)
	// Warn gets a line about a worker that was refused or lost, or whose clock is in doubt, and the id of a run that nobody has
	// chosen; nil is Say.
	Warn func(line string)
	// Now is the clock of the coordinator; nil is time.Now.
	Now func() time.Time
	// patienceOf is the patience for single attempts, in tests; nil is Patience for all.
	patienceOf func(shard, attempt int) time.Duration
	// forsaken is how long the bus may be away; 0 is forsakenAfter.
	forsaken time.Duration
}

// The defaults.
const (
	DefaultPatience = 15 * time.Second
	DefaultWait     = 10 * time.Minute
	localWait       = time.Minute
	// beatEvery is how often a worker shows that it is there.
	beatEvery = time.Second
	// window is the time of a window.
	window = time.Second
)

// Fleet is worker processes that share the plans of load runs. With Rounds, it is for one goroutine.
type Fleet struct {
	opts        Options
	coordinator *coordinator // with Rounds, after the first run; else nil
	// recalled is a run that Gather takes over; nil: it begins one.
	recalled *coordinator
}

var _ load.Fleet = (*Fleet)(nil)

// New makes a fleet. It uses neither network nor processes yet.
func New(o Options) *Fleet {
	if o.Policy == "" {
		o.Policy = Abort
	}
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	if o.Wait == 0 {
		o.Wait = localWait
		if o.Bus != nil {
			o.Wait = DefaultWait
		}
	}
	if o.forsaken == 0 {
		o.forsaken = forsakenAfter
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	if o.Warn == nil {
		o.Warn = o.Say
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Fleet{opts: o}
}

// Local says that the workers are processes on this machine.
func (f *Fleet) Local() bool { return f.opts.Bus == nil }

// Gather gives an order to the workers, and waits until all of them are ready. Without Rounds, each order has workers of its
// own, and several goroutines may call it. An error is a *BusError, the end of ctx, or a *load.EngineError: this machine could not
// start a bus or a worker.
func (f *Fleet) Gather(ctx context.Context, o load.Order) (load.Crew, error) {
	c, err := f.gather(ctx, o)
	var missing *BusError
	switch {
	case err == nil:
		return c, nil
	case errors.As(err, &missing), ctx.Err() != nil:
		return nil, err
	}
	return nil, &load.EngineError{Err: err}
}

func (f *Fleet) gather(ctx context.Context, o load.Order) (*crew, error) {
	h := f.coordinator
	if old := f.recalled; old != nil {
		f.recalled = nil
		c, err := old.resume(ctx, o)
		if err != nil {
			old.close()
			return nil, err
		}
		old.owns, c.over = true, old.close
		return c, nil
	}
	if h == nil {
		var err error
		if h, err = open(ctx, f.opts, o); err != nil {
			return nil, err
		}
	}
	c, err := h.gather(ctx, o)
	if err != nil {
		h.close()
		if f.opts.Rounds {
			f.coordinator = nil
		}
		return nil, err
	}
	if f.opts.Rounds {
		f.coordinator = h
	} else {
		c.over = h.close
	}
	return c, nil
}

// Close ends the run on the bus and the worker processes of this machine.
func (f *Fleet) Close() {
	for _, h := range []*coordinator{f.coordinator, f.recalled} {
		if h != nil {
			h.close()
		}
	}
	f.coordinator, f.recalled = nil, nil
}
