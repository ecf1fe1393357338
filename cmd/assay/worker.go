package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/load/fleet"
	"assay/internal/load/portable"
)

// workerFlags are the flags of worker.
type workerFlags struct {
	fleet.WorkerOptions
	target targetFlags
	bus    busFlags
	quiet  quietFlag
	loops  loopCount
}

func newWorker(io stdio) *cobra.Command {
	var f workerFlags
	c := &cobra.Command{
		Use:   "worker --bus URL --run ID [TARGET]",
		Short: "Do a part of the streams of an assay load on another machine",
		Long: `Takes a part of the run --run of assay load --bus, waits for the start that is common to
all workers, and opens its streams. What it counts and measures goes to the bus; the
report is where assay load runs.

The plan comes from the bus, and names the target; TARGET is another URL of it, as seen
from this machine. The plan has no secret: the token, the headers and the certificate
authority of the target are flags of each worker.

Exit codes: 0 done · 2 refused: another version, too late, the shard is taken · 3 no
bus, no run, or this machine is too small · 4 the engine failed · 5 the run has given this worker up`,
		Example: `  # where the report is wanted
  assay load https://gateway.internal --bus tls://nats.internal:4222 --bus-creds run.creds --run night --workers 2 --streams 20000

  # on each of two other machines
  assay worker --bus tls://nats.internal:4222 --bus-creds run.creds --run night --token-file token`,
		Args:              between(0, 1, "want at most one URL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, args []string) error { return runWorker(c, io, f, args) },
	}
	f.target.registerAccess(c)
	f.quiet.register(c)
	fs := flagsOf(c)
	f.bus.register(fs, "`URL` of the NATS server: nats://HOST:4222 or tls://…")
	fs.StringVar(&f.Run, "run", "", "`ID` of the run, as assay load prints it")
	fs.IntVar(&f.Shard, "shard", -1, "part of the plan, from 0 (default: the first free one)")
	f.loops.register(fs)
	fs.DurationVar(&f.Wait, "wait", time.Minute, "time to wait for the bus and the run")
	return c
}

// options validates all flags before any work.
func (f *workerFlags) options(c *cobra.Command, args []string) (fleet.WorkerOptions, error) {
	o := f.WorkerOptions
	o.Version = version
	t, err := f.target.options(argument(args, 0))
	if err != nil {
		return o, err
	}
	o.Worker = load.Worker{Target: t, Engines: []load.Engine{portable.Engine{}, fast.Engine{Loops: int(f.loops)}}}
	switch {
	case f.bus.url == "":
		return o, errors.New("--bus: name the NATS server of the run")
	case o.Run == "":
		return o, errors.New("--run: name the run, as assay load prints it")
	case c.Flags().Lookup("shard").Changed && o.Shard < 0:
		return o, fmt.Errorf("--shard %d: want 0 or more", o.Shard)
	case o.Wait <= 0:
		return o, fmt.Errorf("--wait %v: want more than 0, for example 5m", o.Wait)
	}
	if err := fleet.CheckRun(o.Run); err != nil {
		return o, fmt.Errorf("--run %q: %w", o.Run, err)
	}
	if o.Bus, err = f.bus.bus(); err == nil {
		err = o.Bus.Validate()
	}
	return o, err
}

func runWorker(c *cobra.Command, io stdio, f workerFlags, args []string) error {
	o, err := f.options(c, args)
	if err != nil {
		return usage(err)
	}
	io.guard.hide(append(o.Worker.Target.Secrets(), o.Bus.Secrets()...))
	io = io.quieted(f.quiet)
	o.Say = func(line string) { io.notef("%s\n", line) }
	stayLean()
	err = fleet.Work(c.Context(), o)
	var engine *load.EngineError
	if errors.As(err, &engine) {
		return defect(err)
	}
	return err
}
