package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/scenarios"
)

const (
	defaultStreams  = 100
	defaultDuration = 10 * time.Second
	maxStreams      = 1_000_000
	maxRate         = 1_000_000
)

// AtOnce is the ramp of a run without one: all Streams begin at the same time.
const AtOnce time.Duration = math.MinInt64

// The default ramp. Of 5,000 streams that begin at once on two cores, the gateway included, the
// last ones wait for a second: that is a measure of the burst, and not of the gateway.
const (
	rampEach = time.Millisecond
	rampMost = 30 * time.Second
)

// Options are the settings of a run. Each field documents its default.
type Options struct {
	// Target is the gateway.
	Target target.Options
	// Sandboxes are the sandboxes of a run through a control plane: the streams take turns
	// among them. Nil: Target is the only one.
	Sandboxes *Sandboxes
	// Profile is the name or file of a profile, which gives the shell, the paths and the
	// names of the counters. Default connect, or full for an embedded gateway.
	Profile string
	// Plan is a file with a mix of classes of streams and other settings. Its classes set
	// Protocol, Codec, Command, Expect, KillShare and DisconnectShare, which must not be
	// set here; every other option that is set here overrides the file.
	Plan string
	// Classes is the mix of a run without a plan's file; like one, it replaces the fields that
	// a class has.
	Classes []scenarios.WorkloadClass
	// Beside runs processes of its own while the streams run, which the counters of the gateway
	// count as well. It ends soon after ctx, and returns the ledger of its processes. run
	// identifies the run in their environment. Nil is nothing beside.
	Beside func(ctx context.Context, run string) bundle.LoadLedger
	// Protocol is connect (default), grpc, grpc-web, ndjson or ws.
	Protocol string
	// Codec is json or proto; default json, for grpc and grpc-web proto. ws has none.
	Codec string
	// HTTP is HTTP11, H2C or H2TLS; default HTTP11, for grpc the form of HTTP/2 that
	// fits the URL.
	HTTP string
	// FullHandshakes makes every connection over https perform a complete TLS handshake. By
	// default, a connection resumes the session of an earlier one if the gateway allows it.
	FullHandshakes bool
	// Schedule has these defaults: 100 Streams, if there is neither a Rate nor Stages; a Duration of 10 s,
	// if there is no Count; a Seed from the clock. A Ramp of 0 is none for a rate, and for Streams a thousand
	// streams per second, but at most 30 s and half of Duration; AtOnce is none.
	Schedule

	// Command is run in every stream; default numbered lines.
	Command string
	// Expect says what Command must print: same (default), none or sha256:HEX.
	Expect string
	// KillShare and DisconnectShare are the shares of the streams, from 0 to 1, that the
	// driver kills, or hangs up on, at a random time after their start event.
	KillShare, DisconnectShare float64
	// Thresholds are conditions in CEL. With AbortOnFail the run ends as soon as one of
	// them, or one of the plan's, is missed, but not before AbortDelay.
	Thresholds  []string
	AbortOnFail bool
	AbortDelay  time.Duration
	// Out is a directory for report, histograms and scrapes; "" keeps nothing.
	Out string
	// Version is the program's.
	Version string
	// Engine opens the streams.
	Engine Engine
	// Fleet has worker processes. A plan that needs more descriptors than one process may have
	// is shared among several of them, if they are local; without Fleet, such a plan is refused.
	Fleet Fleet
	// Workers is the number of worker processes that share the plan; 0 is none, unless one process
	// is not enough.
	Workers int
	// Pause stops the worker processes for a time; the run then has at least one. nil pauses nothing.
	Pause *Pause
	// Progress gets the progress of the run; nil shows nothing.
	Progress Progress

	// classes and conditions are resolved from Plan or from the fields above.
	classes    []scenarios.WorkloadClass
	conditions []Condition
	resumed    string // the id of the resumed run; "" for a new one
}

// Validate checks all options, without touching the network. Its errors are mistakes of
// the user, and say what to write instead.
func (o *Options) Validate() error {
	_, err := o.Outline()
	return err
}

// resolved returns the options with all defaults set.
func (o Options) resolved() (Options, error) {
	if o.resumed != "" {
		if o.Progress == nil {
			o.Progress = silent{}
		}
		return o, nil
	}
	if err := o.resolvePlan(); err != nil {
		return o, err
	}
	if err := o.resolveModel(); err != nil {
		return o, err
	}
	if err := o.resolveClasses(); err != nil {
		return o, err
	}
	if err := o.resolveWorkers(); err != nil {
		return o, err
	}
	for _, text := range o.Thresholds {
		o.conditions = append(o.conditions, Condition{Expr: text})
	}
	if o.AbortOnFail && len(o.conditions) == 0 {
		return o, errors.New("abort-on-fail is for a run with thresholds: give one, or leave it out")
	}
	for i := range o.conditions {
		if c := &o.conditions[i]; o.AbortOnFail && !c.Abort {
			c.Abort, c.Delay = true, o.AbortDelay
		}
	}
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())&(1<<31-1) | 1 //nolint:gosec // any short number will do
	}
	if o.Profile == "" {
		o.Profile = "connect"
		if o.Target.Embedded {
			o.Profile = "full"
		}
	}
	if o.Progress == nil {
		o.Progress = silent{}
	}
	return o, nil
}

// resolveModel checks the options of the schedule and sets their defaults.
func (o *Options) resolveModel() error {
	open := o.Open()
	switch {
	case o.Streams < 0 || o.Streams > maxStreams:
		return fmt.Errorf("streams %d: want 1 to %d", o.Streams, maxStreams)
	case o.Rate < 0 || o.Rate > maxRate || math.IsNaN(o.Rate):
		return fmt.Errorf("rate %g: want streams per second, above 0 and at most %d", o.Rate, maxRate)
	case o.Streams > 0 && open:
		return errors.New("streams and rate are two models: streams keeps so many open, rate begins so many a second; choose one")
	case o.Ramp < 0 && o.Ramp != AtOnce || o.Duration < 0 || o.Warmup < 0 || o.AbortDelay < 0:
		return errors.New("ramp, duration, warmup and the delay of an abort are spans of time: want 0 or more, for example 30s")
	case o.Count < 0:
		return fmt.Errorf("count %d: want 1 or more", o.Count)
	case o.Poisson && !open:
		return errors.New("poisson is for streams that begin at a rate: give a rate, or stages in a plan")
	case o.AbortDelay > 0 && !o.AbortOnFail:
		return errors.New("the delay of an abort is for runs that abort: say abort-on-fail, too")
	}
	if o.Streams == 0 && !open {
		o.Streams = defaultStreams
	}
	if len(o.Stages) > 0 {
		o.Duration = 0
		for _, s := range o.Stages {
			o.Duration += s.Duration
		}
	}
	if o.Duration == 0 && o.Count == 0 {
		o.Duration = defaultDuration
	}
	o.resolveRamp(open)
	switch {
	case o.Duration > 0 && o.Ramp > o.Duration:
		return fmt.Errorf("ramp %v is longer than the duration of %v", o.Ramp, o.Duration)
	case o.Duration > 0 && o.Warmup >= o.Duration:
		return fmt.Errorf("warmup %v leaves nothing of the duration of %v", o.Warmup, o.Duration)
	}
	return nil
}

// MostWorkers bounds the workers of a run.
const MostWorkers = 1000

// MostLocal bounds those of one machine.
const MostLocal = maxProcesses

// resolveWorkers checks the number of workers.
func (o *Options) resolveWorkers() error {
	streams := o.Streams
	if o.Count > 0 && (streams == 0 || o.Count < streams) {
		streams = o.Count
	}
	switch {
	case o.Workers < 0 || o.Workers > MostWorkers:
		return fmt.Errorf("workers %d: want 1 to %d", o.Workers, MostWorkers)
	case streams > 0 && o.Workers > streams:
		return fmt.Errorf("workers %d: the run has only %s at a time, and each worker needs one", o.Workers, plural(streams, "stream", "streams"))
	}
	return nil
}

// resolveRamp sets the default ramp.
func (o *Options) resolveRamp(open bool) {
	switch {
	case o.Ramp == AtOnce:
		o.Ramp = 0
	case o.Ramp == 0 && !open:
		n := o.Streams
		if o.Count > 0 {
			n = min(n, o.Count)
		}
		o.Ramp = min(time.Duration(n)*rampEach, rampMost)
		if o.Duration > 0 {
			o.Ramp = min(o.Ramp, o.Duration/2)
		}
	}
}
