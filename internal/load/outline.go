package load

import (
	"crypto/tls"
	"math"
	"time"

	"assay/internal/target"
	"assay/scenarios"
)

// Outline is the size of a run, as far as it is known before its gateway is.
type Outline struct {
	// HTTP is HTTP11, H2C or H2TLS.
	HTTP string
	// Duration is that of the schedule; 0 means that a count of streams ends it.
	Duration time.Duration
	// Streams is the most streams that can be open at one time. In the open model, a stream
	// counts for as long as it may take to open and is then held.
	Streams int
	// StreamBytes is the memory of the driver for an open stream, in bytes, if it is worth counting.
	StreamBytes int64
	// Starts is the most streams that start in a second; 0 is as many as the gateway allows.
	Starts float64
	// Lines is how many lines a second an open stream of the built-in endless command prints.
	Lines float64
	// Ending is how long the end of the run may take.
	Ending time.Duration
}

// Outline checks all options, as Validate does, and returns the size of the run.
func (o *Options) Outline() (Outline, error) {
	r, err := o.resolved()
	if err != nil {
		return Outline{}, err
	}
	if _, err := CompileThresholds(r.conditions, r.names()); err != nil {
		return Outline{}, err
	}
	p := &Plan{HTTP: r.HTTP, Schedule: r.Schedule}
	p.Poisson = false // the times that are drawn are known when the run begins
	if target.IsSecureURL(r.Target.URL) {
		p.TLS = new(tls.Config)
	}
	out := Outline{HTTP: r.HTTP, Duration: r.Duration, Ending: DefaultLimits(r.Target.TimeScale).KillAll + killTime(p.Wanted())}
	if s, ok := r.Engine.(Sizer); ok {
		out.StreamBytes = s.StreamBytes(p)
	}
	r.outlineStreams(p, &out)
	return out, nil
}

// outlineStreams sets the number of streams, their starts and their lines.
func (o *Options) outlineStreams(p *Plan, out *Outline) {
	crowd := crowdOf(o.classes)
	out.Lines, out.Streams = crowd.lines, p.Wanted()
	if !p.Open() {
		out.Streams = min(out.Streams, p.Streams)
		if !crowd.ends {
			out.Starts = float64(out.Streams) / max(min(p.Ramp, crowd.shortest).Seconds(), minRamp.Seconds())
		}
		return
	}
	out.Starts = p.Rate
	for _, s := range p.Stages {
		out.Starts = max(out.Starts, s.From, s.To)
	}
	if !crowd.endless {
		open := DefaultLimits(o.Target.TimeScale).FirstEvent + crowd.longest
		out.Streams = min(out.Streams, int(out.Starts*open.Seconds())+1)
	}
}

// minRamp bounds the computed starts of streams that begin at once.
const minRamp = time.Second

// crowd is what the classes of a plan have in common.
type crowd struct {
	lines             float64       // a second, of the class with the most
	longest, shortest time.Duration // that a stream is held
	endless           bool          // some streams stay open until the end of the run
	ends              bool          // some streams end by themselves, and are replaced at once
}

func crowdOf(classes []scenarios.WorkloadClass) crowd {
	all := crowd{shortest: math.MaxInt64}
	for i := range classes {
		c := &classes[i]
		if ticks(c) {
			all.lines = float64(time.Second) / float64(tickInterval)
		}
		switch {
		case !c.Endless && !ticks(c) && c.Think == 0:
			all.ends = true
		case !c.Endless && !ticks(c):
			all.shortest = min(all.shortest, c.Think)
		case c.Hold == 0:
			all.endless = true
		}
		if c.Hold > 0 {
			all.longest, all.shortest = max(all.longest, c.Hold), min(all.shortest, c.Hold)
		}
		if c.KillShare+c.DisconnectShare > 0 {
			all.longest, all.shortest = max(all.longest, c.Within), min(all.shortest, c.Within)
		}
	}
	return all
}
