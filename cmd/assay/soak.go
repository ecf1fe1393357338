package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/bundle"
	"assay/internal/fleet"
	"assay/internal/load"
	"assay/internal/soak"
	"assay/internal/soak/inject"
	"assay/reports"
)

// soakFlags are the flags of soak.
type soakFlags struct {
	target targetFlags
	lease  leaseFlags
	quiet  quietFlag
	output outputFlags

	inject                   []string
	duration, window, warmup time.Duration
	rate, confidence         float64
	held, pid                int
	on, profile, out, resume string
	engine                   engineFlags
	fleet                    fleetFlags
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
	f.target.register(c)
	f.lease.register(c)
	f.quiet.register(c)
	f.register(c)
	f.fleet.register(c, fleet.Degrade)
	f.output.register(c)
	f.output.registerCI(c)
	return c
}

func (f *soakFlags) register(c *cobra.Command) {
	fs := flagsOf(c)
	fs.DurationVar(&f.duration, "duration", soak.DefaultDuration, "time of the whole soak")
	fs.DurationVar(&f.window, "window", 0, "time of a window (default 10m, or a twelfth of a shorter soak)")
	fs.DurationVar(&f.warmup, "warmup", 0, "time that is not judged for trends (default two windows)")
	fs.Float64Var(&f.rate, "rate", soak.DefaultRate, "streams that begin per second, besides those that are held")
	fs.IntVar(&f.held, "held", soak.DefaultHeld, "streams that are held open, on average")
	fs.Float64Var(&f.confidence, "confidence", soak.DefaultConfidence, "probability that a soak of a gateway without leak or drift finds none")
	fs.IntVar(&f.pid, "pid", 0, "process of the gateway on this machine, whose resources are read from /proc")
	fs.StringSliceVar(&f.inject, "inject", nil, "inject faults, one in each window in turns: "+strings.Join(inject.Names(inject.Kinds()), ", ")+", or all")
	fs.StringVar(&f.on, "http", "", "1.1, h2c, or h2-tls for https (default 1.1)")
	fs.profile(&f.profile, "profile with shell, paths and metric names: ")
	fs.StringVar(&f.out, "out", "", "directory for the windows and the report (default soak-TIME in the working directory)")
	fs.StringVar(&f.resume, "resume", "", "directory of a soak that ended early, to continue it")
	f.engine.register(fs)
}

// planFlags are the flags that the folder of a resumed soak sets.
var planFlags = []string{"duration", "window", "warmup", "rate", "held", "confidence", "inject", "seed", "http", "out"}

// options validates all flags before any work.
func (f *soakFlags) options(c *cobra.Command, args []string) (soak.Options, error) {
	url := argument(args, 0)
	t, err := f.target.options(url)
	if err != nil {
		return soak.Options{}, err
	}
	if err := f.lease.options(&t, ""); err != nil {
		return soak.Options{}, err
	}
	t.Embedded = url == "" && f.lease.url == ""
	if err := errors.Join(f.output.validate(), soakFormats(f.output)); err != nil {
		return soak.Options{}, err
	}
	o := soak.Options{
		Load:     load.Options{Target: t, Profile: f.profile, HTTP: f.on, Version: version},
		Duration: f.duration, Window: f.window, Warmup: f.warmup, Rate: f.rate, Held: f.held, Seed: f.target.seed,
		PID: f.pid, Confidence: f.confidence, Inject: f.inject, Out: f.out,
	}
	for _, name := range []string{"duration", "window", "rate"} {
		if fl := c.Flags().Lookup(name); fl.Changed && (fl.Value.String() == "0" || fl.Value.String() == "0s") {
			return o, fmt.Errorf("--%s 0: want more than 0", name)
		}
	}
	if f.pid != 0 {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", f.pid)); err != nil {
			return o, fmt.Errorf("--pid %d: no such process in /proc of this machine", f.pid)
		}
	}
	if f.resume != "" && f.lease.url != "" {
		return o, errors.New("--resume: the sandbox of that soak is gone, and another one is not the same; begin another soak")
	}
	if f.resume != "" {
		for _, name := range planFlags {
			if c.Flags().Lookup(name).Changed {
				return o, fmt.Errorf("--%s: the plan of a resumed soak is that of its folder; leave the flag out", name)
			}
		}
		o.Out, o.Resume = f.resume, true
	}
	if o.Out == "" {
		o.Out = "soak-" + time.Now().Format("20060102-150405")
	}
	if o.Load.Engine, err = f.engine.choose(); err != nil {
		return o, err
	}
	return o, o.Validate()
}

// soakFormats refuses the formats that the report of a soak does not have.
func soakFormats(f outputFlags) error {
	for _, format := range slices.Concat([]string{f.format}, f.reports) {
		format, _, _ = strings.Cut(format, "=")
		if !slices.Contains(reports.SoakFormats(), format) {
			return fmt.Errorf("a soak has no report in the format %q: the formats are %s", format, strings.Join(reports.SoakFormats(), ", "))
		}
	}
	return nil
}

func runSoak(c *cobra.Command, io stdio, f soakFlags, args []string) (failed error) {
	o, err := f.options(c, args)
	if err != nil {
		return usage(err)
	}
	crew, err := f.fleetOptions(c, &o)
	if err != nil {
		return usage(err)
	}
	io.guard.hide(append(o.Load.Target.Secrets(), busSecrets(crew)...))
	io = io.quieted(f.quiet)
	o.Progress = newSoakProgress(io.progress())
	crew.Say = func(line string) { io.notef("%s\n", line) }
	crew.Warn = func(line string) { io.errorf("%s\n", line) }
	workers := fleet.New(crew)
	defer workers.Close()
	o.Load.Fleet, o.Load.Workers, o.Local = workers, f.fleet.workers, localFleet(f.engine.worker())
	ctx := c.Context()
	release, err := f.lease.create(ctx, io, &o.Load.Target)
	if err != nil {
		return nothingRun(err)
	}
	defer release()
	if o.Load.Target.Embedded {
		stop, err := embed(ctx, io, &o.Load.Target)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, stop()) }()
	} else {
		stayLean()
	}
	r, err := soak.Run(ctx, o)
	return soakResult(io, f.output, r, err)
}

// soakResult writes the report and returns the exit code.
func soakResult(io stdio, f outputFlags, r *bundle.SoakReport, err error) error {
	var engine *load.EngineError
	switch {
	case r == nil && errors.As(err, &engine):
		return defect(err)
	case r == nil:
		return err
	}
	err = errors.Join(err, f.write(io, drawSoak(r)))
	if err != nil {
		return defect(err)
	}
	return code(r.Exit())
}

// drawSoak draws the report of a soak.
func drawSoak(r *bundle.SoakReport) draw {
	return func(w io.Writer, format string, s reports.Style) error { return reports.RenderSoak(w, format, r, s) }
}

// redrawSoak renders the report of a stored soak.
func redrawSoak(io stdio, f outputFlags, dir string) error {
	if err := soakFormats(f); err != nil {
		return usage(err)
	}
	r, err := soak.Open(dir)
	if err != nil {
		return usage(err)
	}
	return soakResult(io, f, r, nil)
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
