package suites

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"assay/internal/bundle"
	"assay/internal/target"
	"assay/scenarios"
)

// ErrNothingAccepted says that Options.Only accepted nothing of what was selected.
var ErrNothingAccepted = errors.New("nothing that was selected is to run")

// Options say what to run against what. The zero value runs the whole catalogue
// against the embedded reference gateway with the profile full.
type Options struct {
	// Target is how the gateway is reached; an empty URL starts the reference
	// gateway in this process on 127.0.0.1 and tests that.
	Target target.Options
	// Profile is the name of an embedded profile or the path of a file. Default:
	// full for the embedded gateway, connect for a URL.
	Profile string
	// ProfileText, when not "", is the profile of a stored run as it was then, and goes
	// before Profile.
	ProfileText string
	// Select limits the scenarios, in the terms of --select.
	Select string
	// Scenarios is a folder of scripts to run instead of the embedded catalogue.
	Scenarios string
	// Only, when not nil, limits the run to the instances it accepts; of those that
	// are selected it must accept one, or there is ErrNothingAccepted.
	Only func(scenarios.Instance) bool
	// Set changes the selected scenarios to a smaller form, for Replay.
	Set []scenarios.Override
	// Wait is how long to wait until the target accepts connections; 0 tries once.
	Wait time.Duration
	// Repeat runs every instance that many times; 0 is once.
	Repeat int
	// Budget is when to stop starting scenarios; 0 is never.
	Budget time.Duration
	// Jobs is how many scenarios run at the same time; 0 is 8.
	Jobs int
	// Strict makes broken should and may rules fail.
	Strict bool
	// Known are the failures that are expected. They are stored with the run, which
	// is judged again with them. nil excuses nothing.
	Known *scenarios.Known
	// Destructive and Slow run the scenarios that need to be asked for.
	Destructive, Slow bool
	// Seed is the seed of all plans; 0 takes one from the clock.
	Seed uint64
	// Out is the directory of the bundle; "" keeps none.
	Out string
	// OutLimit bounds the bundle, in bytes; 0 is bundle.DefaultLimit.
	OutLimit int64
	// Reproduce is how many failing scenarios are run again at the end, with their
	// curl lines and scripts, to see whether these show the failure; 0 is none. The
	// texts are made in any case.
	Reproduce int
	// Flags are the flags of the command line that a replay needs as well, and CACert
	// is the file of --cacert, for texts that name it. Neither holds a secret.
	Flags  []string
	CACert string
	// Version is the program's version, for the bundle and the User-Agent.
	Version string

	// Log gets what went wrong in Assay itself, and progress off a terminal. nil discards.
	Log *slog.Logger
	// Progress is told how the run goes. nil is no progress.
	Progress Progress
	// Specs gets Ginkgo's own output. nil discards it.
	Specs io.Writer
}

// Progress is told how a run goes. Calls come one at a time.
type Progress interface {
	// Begin is called once, when it is known what will run.
	Begin(run *bundle.Run, instances []scenarios.Instance)
	// Start is called when an instance starts to run.
	Start(scenarios.Instance)
	// Done is called with the worst verdict of an instance.
	Done(scenarios.Instance, bundle.Conclusion, time.Duration)
	// End is called once, when all is done or the run was interrupted.
	End()
}

// noProgress is the Progress of those who want none.
type noProgress struct{}

var _ Progress = noProgress{}

func (noProgress) Begin(*bundle.Run, []scenarios.Instance)                   {}
func (noProgress) Start(scenarios.Instance)                                  {}
func (noProgress) Done(scenarios.Instance, bundle.Conclusion, time.Duration) {}
func (noProgress) End()                                                      {}

// Outcome is all that a run left behind in memory; the bundle has the same.
type Outcome struct {
	Run          *bundle.Run
	Observations []*bundle.Observation
	Verdicts     []bundle.Verdict
	Report       *bundle.Report
	// Reproducers are the texts that show again what failed.
	Reproducers []bundle.Reproducer
}

func (o *Options) setDefaults() {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = noProgress{}
	}
	if o.Specs == nil {
		o.Specs = io.Discard
	}
	if o.Jobs <= 0 {
		o.Jobs = 8
	}
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())
	}
	if o.Version == "" {
		o.Version = "dev"
	}
}
