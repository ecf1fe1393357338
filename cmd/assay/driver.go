package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"

	"assay/fakes/gateway"
	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/load/fleet"
	"assay/internal/load/portable"
	"assay/internal/target"
	"assay/reports"
)

// driverFlags are those that load and soak share.
type driverFlags struct {
	reachFlags
	quiet  quietFlag
	output outputFlags
	engine engineFlags
	fleet  fleetFlags
}

func (f *driverFlags) register(fs flags, o *load.Options, lost fleet.Policy) {
	f.reachFlags.register(fs.of)
	f.quiet.register(fs.of)
	f.output.register(fs.of)
	f.output.registerCI(fs.of)
	f.engine.register(fs)
	f.fleet.register(fs.of, lost)
	fs.profile(&o.Profile, "profile with shell, paths and metric names: ")
}

// complete sets the target of a run.
func (f *driverFlags) complete(o *load.Options, url string) (err error) {
	o.Version = version
	o.Target, err = f.options(url, "")
	o.Target.Embedded = url == "" && f.lease.url == ""
	return err
}

// crew returns the fleet of a run against a target.
func (f *driverFlags) crew(c *cobra.Command, t target.Options) (fleet.Options, error) {
	crew, err := f.fleet.options(c, f.engine.worker())
	resumed := c.Name() == "load" && c.Flags().Lookup("resume").Changed
	if err == nil && crew.Bus != nil && t.Embedded && !resumed {
		err = errors.New("--bus: name the URL of a target: workers of other machines do not reach the embedded gateway")
	}
	return crew, err
}

// begin hides the secrets of a run from its output, and returns its streams and its workers, which must be closed.
func (f *driverFlags) begin(io stdio, t target.Options, crew fleet.Options) (stdio, *fleet.Fleet) {
	secrets := t.Secrets()
	if crew.Bus != nil {
		secrets = append(secrets, crew.Bus.Secrets()...)
	}
	io.guard.hide(secrets)
	io = io.quieted(f.quiet)
	crew.Say = func(line string) { io.notef("%s\n", line) }
	crew.Warn = func(line string) { io.errorf("%s\n", line) }
	return io, fleet.New(crew)
}

// embedIfWanted is embed for a run that wants the embedded gateway. Any other keeps the memory of the program small.
func embedIfWanted(ctx context.Context, io stdio, t *target.Options) (stop func() error, err error) {
	if !t.Embedded {
		stayLean()
		return func() error { return nil }, nil
	}
	return embed(ctx, io, t)
}

// driven writes the report of a run, and returns its exit code. A run without a report has an error.
func driven[R interface {
	comparable
	Exit() int
}](s stdio, f outputFlags, render func(io.Writer, string, R, reports.Style) error, r R, err error) error {
	var none R
	var engine *load.EngineError
	switch {
	case r == none && errors.As(err, &engine):
		return defect(err)
	case r == none:
		return err
	}
	if err := errors.Join(err, f.write(s, drawing(render, r))); err != nil {
		return defect(err)
	}
	return code(r.Exit())
}

// embed starts the embedded gateway and points the options of a target at it. stop ends it. The gateway outlives an
// interrupt, because the run then kills its processes.
func embed(ctx context.Context, io stdio, t *target.Options) (stop func() error, err error) {
	g, err := gateway.Start(context.WithoutCancel(ctx), gateway.Options{Log: logger(io), Token: t.Token})
	if err != nil {
		return nil, defect(fmt.Errorf("starting the embedded gateway: %w", err))
	}
	t.URL, t.Embedded = g.URL(), true
	return func() error { return defect(g.Close()) }, nil
}

// localFleet returns worker processes of this machine with a command line, for a run that may need them.
func localFleet(line []string) load.Fleet {
	return fleet.New(fleet.Options{Version: version, Line: line})
}

// workerLine returns the command line of a worker process of a load run, nil if this program does not know its path.
func workerLine() []string {
	exe, err := os.Executable()
	if err != nil { // without /proc
		if exe, err = exec.LookPath(os.Args[0]); err == nil {
			exe, err = filepath.Abs(exe)
		}
	}
	if err != nil {
		return nil
	}
	return []string{exe, loadWorker}
}

// engineFlags choose the engine of a load run.
type engineFlags struct {
	name  string
	loops loopCount
}

func (f *engineFlags) register(fs flags) {
	fs.word(&f.name, "engine", engineAuto, "driver engine: fast (Linux), portable, or auto (fast where possible)", "auto, fast or portable", engineAuto, "fast", "portable")
	f.loops.register(fs)
}

const engineAuto = "auto"

// choose returns the engine of --engine.
func (f *engineFlags) choose() (load.Engine, error) {
	switch can := fast.Available(); {
	case f.name == "fast" && !can:
		return nil, errors.New("--engine fast needs Linux on amd64 or arm64: use --engine portable or auto")
	case f.name != "portable" && can:
		return fast.Engine{Loops: int(f.loops)}, nil
	case f.loops > 0:
		return nil, errors.New("--loops is for the event loops of the fast engine: leave it out with the portable one")
	}
	return portable.Engine{}, nil
}

// worker returns the command line of a worker process with the same engine, nil if this
// program does not know its path.
func (f *engineFlags) worker() []string {
	line := workerLine()
	if line != nil && f.loops > 0 {
		line = append(line, "--loops", f.loops.String())
	}
	return line
}

// loopCount is the value of --loops; 0 stands for the engine's choice.
type loopCount int

// mostLoops is more than any machine has use for.
const mostLoops = 256

func (n *loopCount) register(fs flags) {
	fs.Var(n, "loops", "event loops of the fast engine, 1 to 256, in each process (default: by the number of streams, at most one for each core)")
}

// Set parses a number from 1 to mostLoops.
func (n *loopCount) Set(text string) error {
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 || v > mostLoops {
		return fmt.Errorf("want a number from 1 to %d", mostLoops)
	}
	*n = loopCount(v)
	return nil
}

// String returns the number, "" for none.
func (n *loopCount) String() string {
	if *n == 0 {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// Type returns the word for a value in the help.
func (*loopCount) Type() string { return "number" }

// leanHeap is the GOGC value of the driver, in per cent. Streams produce almost no garbage,
// and the histograms of each second little: collecting three times as often as by default
// costs 10 ms of CPU time per second and halves the memory of the driver.
const leanHeap = 30

// stayLean keeps the memory of the driver small, unless GOGC is set.
func stayLean() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(leanHeap)
	}
}
