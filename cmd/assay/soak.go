package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/load/fleet"
	"assay/internal/load/soak"
	"assay/internal/load/soak/inject"
	"assay/internal/record/bundle"
	"assay/reports"
)

// soakFlags are the flags of soak.
type soakFlags struct {
	soak.Options
	driverFlags
	resume string
}

func newSoak(io stdio) *cobra.Command {
	var f soakFlags
	c := &cobra.Command{
		Use:   "soak [URL]",
		Short: "Run hours of mixed work; find leaks, drifts and losses",
		Long: `Runs mixed work against the gateway at URL for --duration, in windows: short and held
streams, input, kills, hang-ups, deadlines, second clients of a process, files and
sockets, where the gateway has them. Every byte is checked. At the end of each window
every process is killed, the counters are held against the ledger, and the gateway is
sampled at rest. Without a URL it uses the embedded reference gateway.

The verdict is fail when a stream or a byte was lost, when counters disagree with the
ledger, when the gateway went away or restarted, when memory, descriptors, goroutines
or entries of List rise from window to window, or when a latency does. A rise is judged
by the slope of Theil and Sen with its bound, after --warmup, at --confidence for the
whole soak; each series says how small a rise it would have shown. Fewer than eight
windows after the warm-up are inconclusive.

Memory, descriptors and goroutines come from process_* and go_* on /metrics, or with
--pid from /proc of a gateway on this machine.

--workers and --bus share the streams among processes, here or elsewhere, as those of
assay load do; all else is done by this process. A worker that is lost is an event of the
report, and the others go on (--lost-worker).

--inject injects faults from the side of the clients, one in the middle of each window
after the warm-up: clients that reset, hang half open or read slowly, bursts, and a
proxy in front of the gateway that delays, cuts and splits what passes. The report says
how long the service took to be as before; nothing is done to the gateway itself.

A soak that was interrupted or killed goes on with --resume DIR, by the plan and seed
of its folder; the gap is named. Exit codes: 0 pass · 1 fail · 5 inconclusive · 130
interrupted.`,
		Example: `  # a night
  assay soak http://127.0.0.1:8081 --out night

  # a quarter of an hour, before a release
  assay soak http://127.0.0.1:8081 --duration 15m --window 1m --out soak

  # a gateway without process metrics, on this machine
  assay soak http://127.0.0.1:8081 --pid 4711 --duration 2h

  # with faults from the side of the clients
  assay soak http://127.0.0.1:8081 --duration 2h --inject reset,slow-reader,cut

  # in a sandbox of a control plane, which is deleted afterwards
  assay soak --control-plane http://127.0.0.1:3000 --api-key-file key --duration 2h

  # go on after an interrupt
  assay soak http://127.0.0.1:8081 --resume night

  # the morning's report, again
  assay report night --format html > night.html`,
		Args:              between(0, 1, "want at most one URL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, args []string) error { return runSoak(c, io, f, args) },
	}
	fs := flagsOf(c)
	f.register(fs, &f.Load, fleet.Degrade)
	fs.DurationVar(&f.Duration, "duration", soak.DefaultDuration, "time of the whole soak")
	fs.DurationVar(&f.Window, "window", 0, "time of a window (default 10m, or a twelfth of a shorter soak)")
	fs.DurationVar(&f.Warmup, "warmup", 0, "time that is not judged for trends (default two windows)")
	fs.Float64Var(&f.Rate, "rate", soak.DefaultRate, "streams that begin per second, besides those that are held")
	fs.IntVar(&f.Held, "held", soak.DefaultHeld, "streams that are held open, on average")
	fs.Float64Var(&f.Confidence, "confidence", soak.DefaultConfidence, "probability that a soak of a gateway without leak or drift finds none")
	fs.IntVar(&f.PID, "pid", 0, "process of the gateway on this machine, whose resources are read from /proc")
	fs.StringSliceVar(&f.Inject, "inject", nil, "inject faults, one in each window in turns: "+strings.Join(inject.Names(inject.Kinds()), ", ")+", or all")
	fs.StringVar(&f.Load.HTTP, "http", "", "1.1, h2c, or h2-tls for https (default 1.1)")
	fs.StringVar(&f.Out, "out", "", "directory for the windows and the report (default soak-TIME in the working directory)")
	fs.StringVar(&f.resume, "resume", "", "directory of a soak that ended early, to continue it")
	fs.positive("duration", "window", "rate")
	return c
}

// planFlags are the flags that the folder of a resumed soak sets.
var planFlags = []string{"duration", "window", "warmup", "rate", "held", "confidence", "inject", "seed", "http", "out"}

// complete validates the rest of the flags before any work, and completes the options of the soak.
func (f *soakFlags) complete(c *cobra.Command, args []string) (err error) {
	if err := f.driverFlags.complete(&f.Load, argument(args, 0)); err != nil {
		return err
	}
	if err := errors.Join(f.output.validate(), soakFormats(f.output)); err != nil {
		return err
	}
	f.Seed = f.target.seed
	if f.PID != 0 {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", f.PID)); err != nil {
			return fmt.Errorf("--pid %d: no such process in /proc of this machine", f.PID)
		}
	}
	if f.resume != "" && f.lease.url != "" {
		return errors.New("--resume: the sandbox of that soak is gone, and another one is not the same; begin another soak")
	}
	if f.resume != "" {
		for _, name := range planFlags {
			if c.Flags().Lookup(name).Changed {
				return fmt.Errorf("--%s: the plan of a resumed soak is that of its folder; leave the flag out", name)
			}
		}
		f.Out, f.Resume = f.resume, true
	}
	if f.Out == "" {
		f.Out = "soak-" + time.Now().Format("20060102-150405")
	}
	if f.Load.Engine, err = f.engine.choose(); err != nil {
		return err
	}
	return f.Validate()
}

// soakFormats refuses the formats that the report of a soak does not have.
func soakFormats(f outputFlags) error {
	return f.only("a soak has no report in the format", reports.Soak().Formats())
}

func runSoak(c *cobra.Command, io stdio, f soakFlags, args []string) (failed error) {
	if err := f.complete(c, args); err != nil {
		return usage(err)
	}
	crew, err := f.crew(c)
	if err != nil {
		return usage(err)
	}
	o := f.Options
	io, workers := f.begin(io, o.Load.Target, crew)
	defer workers.Close()
	o.Progress = newSoakProgress(io.progress())
	o.Load.Fleet, o.Load.Workers, o.Local = workers, f.fleet.workers, localFleet(f.engine.worker())
	ctx := c.Context()
	release, err := f.lease.create(ctx, io, &o.Load.Target)
	if err != nil {
		return nothingRun(err)
	}
	defer release()
	stop, err := embedIfWanted(ctx, io, &o.Load.Target)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, stop()) }()
	r, err := soak.Run(ctx, o)
	return driven(io, f.output, reports.Soak().Render, r, err)
}

// crew returns the fleet of a soak. Its workers stay from window to window.
func (f *soakFlags) crew(c *cobra.Command) (fleet.Options, error) {
	crew, err := f.driverFlags.crew(c, f.Load.Target)
	crew.Rounds = f.fleet.workers > 0
	switch {
	case err != nil || crew.Bus == nil:
		return crew, err
	case f.lease.url != "":
		return crew, errors.New("--control-plane: the token of its sandbox does not go over a bus; leave --bus out, and the workers are processes of this machine")
	case len(f.Inject) > 0:
		return crew, errors.New("--inject: the faults are injected on this machine, and workers of others do not meet them; leave --bus out")
	}
	return crew, nil
}

// verifySoak concludes again on the recorded windows.
func verifySoak(dir string, v *bundle.Verification) {
	stored, again, err := soak.Again(dir)
	switch {
	case err != nil:
		v.Add(bundle.ProblemUnreadable, "", err.Error())
	case stored != again:
		v.Add(bundle.ProblemResult, bundle.SoakFile, fmt.Sprintf("%s says %s, but its windows are %s", filepath.Join(dir, bundle.SoakFile), stored, again))
	}
}
