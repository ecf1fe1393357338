package suites

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/scenarios"
)

// ErrNothingAccepted means that Options.Only accepted none of the selected instances.
var ErrNothingAccepted = errors.New("none of the selected scenarios is to run")

// Options configure a run. The zero value runs the whole catalogue against the embedded
// reference gateway with the profile full.
type Options struct {
	// Target identifies the gateway; with an empty URL, Run starts the reference gateway in
	// this process on 127.0.0.1 and tests that.
	Target target.Options
	// Profile is the name of an embedded profile or the path of a file. Default:
	// full for the embedded gateway, connect for a URL.
	Profile string
	// ProfileText, if not "", is the stored profile text of another run, and overrides
	// Profile.
	ProfileText string
	// Select limits the scenarios, in the terms of --select.
	Select string
	// Scenarios is a folder of scripts to run instead of the embedded catalogue.
	Scenarios string
	// Only, if not nil, limits the run to the instances that it accepts. If it accepts none of
	// the selected ones, the error is ErrNothingAccepted.
	Only func(scenarios.Instance) bool
	// Shard is the part of the selection to run, of what Only accepts. A part without a scenario does not
	// use the target; its outcome says so.
	Shard Shard
	// Set reduces the selected scenarios, for Replay.
	Set []scenarios.Override
	// Wait is the time to wait until the target accepts connections; 0 tries once.
	Wait time.Duration
	// Repeat is the number of times to run every instance; 0 is once.
	Repeat int
	// Budget is the time for the whole run, from Run on. When it is spent, running scenarios
	// are stopped and cleaned up within two seconds, and the others are skipped. 0 is no limit.
	Budget time.Duration
	// Jobs is the number of concurrent scenarios; 0 is 8.
	Jobs int
	// Strict makes broken should and may rules fail.
	Strict bool
	// Known are the expected failures. They are stored with the run, for judging it again. nil
	// excuses nothing.
	Known *scenarios.Known
	// Destructive and Slow also run the destructive and the slow scenarios.
	Destructive, Slow bool
	// Seed is the seed of all random choices; 0 takes one from the clock.
	Seed uint64
	// Out is the directory of the bundle; "" writes none.
	Out string
	// OutLimit is the maximum size of the bundle, in bytes; 0 is bundle.DefaultLimit.
	OutLimit int64
	// Memory is how much memory, in bytes, the program may use; 0 is DefaultMemory. Records take
	// a part of it. What exceeds it is not read, and its verdicts are inconclusive.
	Memory int64
	// Reproduce is the number of failing scenarios to reproduce at the end, also with their
	// curl lines and scripts; 0 is none. The texts are written in any case.
	Reproduce int
	// Flags are the command line flags that a replay needs, and CACert is the file of --cacert,
	// for texts that name it. Neither contains a secret.
	Flags  []string
	CACert string
	// Version is the program's version, for the bundle and the User-Agent.
	Version string

	// Log receives errors in Assay itself, and progress without a terminal. nil discards.
	Log *slog.Logger
	// Progress receives the progress of the run; it may be nil.
	Progress Progress
	// Restart starts a target that has died again, if its process has ended; nil if nobody here can.
	Restart func(context.Context)
	// Specs receives Ginkgo's output. With nil, Ginkgo does not run.
	Specs io.Writer

	// underGoTest is set by the package's own test: Ginkgo's flags, which go test has parsed, apply.
	underGoTest bool
}

// Progress receives the progress of a run, one call at a time.
type Progress interface {
	// Begin is called once, with the instances to run.
	Begin(run *bundle.Run, instances []scenarios.Instance)
	// Start is called when an instance starts.
	Start(scenarios.Instance)
	// Done is called with the worst verdict of an instance.
	Done(scenarios.Instance, bundle.Conclusion, time.Duration)
	// End is called once, at the end or after an interrupt.
	End()
}

// noProgress ignores progress.
type noProgress struct{}

var _ Progress = noProgress{}

func (noProgress) Begin(*bundle.Run, []scenarios.Instance)                   {}
func (noProgress) Start(scenarios.Instance)                                  {}
func (noProgress) Done(scenarios.Instance, bundle.Conclusion, time.Duration) {}
func (noProgress) End()                                                      {}

// Outcome is the result of a run in memory. Its observations have no evidence of what passed,
// and cannot be judged again; those of the bundle can.
type Outcome struct {
	Run          *bundle.Run
	Observations []*bundle.Observation
	Verdicts     []bundle.Verdict
	Report       *bundle.Report
	// Reproducers are the texts that reproduce the failures.
	Reproducers []bundle.Reproducer
}

func (o *Options) setDefaults() {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = noProgress{}
	}
	if o.Jobs <= 0 {
		o.Jobs = 8
	}
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())
	}
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if o.Version == "" {
		o.Version = "dev"
	}
}
