package load

import (
	"context"
	"fmt"
	"time"

	"assay/internal/base/crash"
	"assay/internal/base/machine"
	"assay/internal/target"
)

// Worker is what a worker process has of its own: the target with its credentials, and the engines.
type Worker struct {
	Target target.Options
	// Sandboxes are the sandboxes that the streams take turns among; none is Target alone.
	Sandboxes []target.Options
	Engines   []Engine
	// Local says that the worker shares the machine with the coordinator, which has checked its limits.
	Local bool
}

// Segment is one part of a job, in a worker process.
type Segment struct {
	plan    *Plan
	engine  Engine
	sink    *collector
	refused string
	last    Counts
	dropped int64 // of the measured values, up to the last window
	steps   int   // of the clock, up to the last window
	failure error
	local   bool // the coordinator watches the clock of this machine
}

// Segment prepares a part of a job, by number from 0. It uses no network. Its errors are a job that does not fit the
// worker: an engine that it has not, a target that it does not know, *machine.LimitError for too small a machine.
func (w *Worker) Segment(j *Job, number int) (*Segment, error) {
	p := &Segment{local: w.Local}
	for _, e := range w.Engines {
		if e.Name() == j.Engine {
			p.engine = e
		}
	}
	if p.engine == nil {
		return nil, fmt.Errorf("there is no engine %q on this machine: let the run choose --engine portable", j.Engine)
	}
	at, err := j.Aim.At(w.Target)
	if err != nil {
		return nil, err
	}
	t, err := target.New(at)
	if err != nil {
		return nil, err
	}
	o := j.options(at, number)
	if p.plan, err = o.plan(Dialect{Target: t, Run: j.Run, Part: number}); err != nil {
		return nil, err
	}
	if p.plan.Sandboxes, err = targetsOf(w.Sandboxes, t.Redactor()); err != nil {
		return nil, err
	}
	p.plan.Part, p.plan.Parts = number, j.Parts
	p.plan.Limits.Interrupt = SegmentEnding(&p.plan.Limits)
	m := thisMachine()
	if !w.Local {
		if _, err := m.fit(p.plan, p.engine, splitting{}); err != nil {
			return nil, err
		}
	}
	if len(j.Sources) > 0 {
		if p.plan.Sources, err = addresses(j.Sources); err != nil {
			return nil, err
		}
	}
	if !p.plan.Multiplexed() { // streams that share connections need no descriptors of their own
		p.plan.MaxOpen = m.room(false)
	}
	p.sink = newCollector(shardsWanted(), p.plan)
	p.sink.redactor = t.Redactor()
	p.sink.refused = func(message string) { p.refused = message }
	return p, nil
}

// SegmentEnding returns how much of the time after an interrupt a worker may take: the rest is for the coordinator.
func SegmentEnding(l *Limits) time.Duration { return l.Ending(true) * 4 / 5 }

// Ending returns how long the end of the part may take, after its schedule.
func (p *Segment) Ending() time.Duration { return p.plan.Limits.KillAll + p.plan.Limits.Grace }

// Run opens the streams of the part, and publishes a window each time that so much time has passed, and the last one
// at the end. A window that comes late is longer, and loses nothing. The end of ctx interrupts the part: it kills its
// processes and publishes its last window. An error is one of publish; see Failure for that of the engine.
func (p *Segment) Run(ctx context.Context, window time.Duration, publish func(*Window) error) error {
	cpu := machine.CPUSeconds() // a process that does several parts, as in a soak, has used some before
	clock := newClockWatch(time.Now())
	defer p.sink.warm()()
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	var running crash.Group
	defer running.Wait()
	defer stop()
	running.Go(func() {
		done <- p.engine.Run(ctx, p.plan, p.sink)
	})
	tick := time.NewTicker(window)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.sink.hist.merge()
			if step := clock.look(time.Now()); step != 0 && !p.local {
				p.sink.ClockStepped(step)
			}
			w, err := p.window()
			if err == nil {
				err = publish(w)
			}
			if err != nil {
				return err
			}
		case failed := <-done:
			p.sink.hist.last()
			w, err := p.window()
			if err != nil {
				return err
			}
			w.Done, w.Examples, w.CPU, w.RSS = true, p.sink.examples, machine.CPUSeconds()-cpu, machine.PeakMemory()
			if failed != nil {
				p.failure, w.Error = &EngineError{failed}, failed.Error()
			}
			return publish(w)
		}
	}
}

// Failure returns the error of the engine, an *EngineError, after Run.
func (p *Segment) Failure() error { return p.failure }

// window returns what was counted and measured since the last window.
func (p *Segment) window() (*Window, error) {
	now := p.sink.counts()
	w := &Window{Counts: now.since(&p.last), Dropped: p.sink.hist.dropped - p.dropped}
	p.last, p.dropped = now, p.sink.hist.dropped
	for class := range p.plan.Classes {
		for m, h := range p.sink.hist.of(class) {
			if h.TotalCount() == 0 {
				continue
			}
			v := Values{Class: class, Metric: Metric(m)} //nolint:gosec // an index of the array
			text, err := h.EncodeV2()
			if err != nil {
				return nil, fmt.Errorf("the histogram of %s: %w", v.Metric, err)
			}
			v.Histogram = string(text)
			w.Values = append(w.Values, v)
		}
	}
	p.sink.mu.Lock()
	defer p.sink.mu.Unlock()
	w.Refused = p.refused
	w.Steps, p.steps = p.sink.steps[p.steps:], len(p.sink.steps)
	return w, nil
}
