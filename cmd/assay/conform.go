package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/bundle"
	"assay/reports"
	"assay/scenarios"
	"assay/suites"
)

// conformFlags are the flags of conform.
type conformFlags struct {
	target targetFlags
	output outputFlags
	memory memoryFlag
	lease  leaseFlags
	quiet  quietFlag
	live   liveFlag

	profile, selection, known, out    string
	shard, writeKnown                 string
	scenarios, rerun, exec            string
	jobs, repeat, reproduce           int
	outLimit                          sizeValue
	wait, budget                      time.Duration
	strict, destructive, slow, dryRun bool

	again rerun // of --rerun, set by options
}

func newConform(io stdio) *cobra.Command {
	var f conformFlags
	c := &cobra.Command{
		Use:   "conform [URL]",
		Short: "Run the scenarios against a gateway and judge it",
		Long: `Runs the scenarios against the gateway at URL, or against the embedded reference
gateway without a URL, and judges the observations.

--profile says what the gateway claims to be; the default is connect for a URL
and full for the embedded gateway (see assay list --profiles). --select takes
comma-separated terms: an id glob, rule:ID, level:must, feature:ID, area:NAME or
axis:proto; ! in front of a term excludes it. --rerun uses the URL, profile and
scenarios of its bundle by default.

--shard I/N runs one of N parts of the scenarios, which are disjoint and together
all of them; a part with nothing to test has exit code 0, so that N may be larger
than the number of scenarios. assay report merges the bundles of all parts.

With --repeat N, a must rule that holds in some repeats and not in others is flaky,
which fails the run (exit 1); the report says in how many it failed.

--scenarios runs scripts of your own instead, with rules and profiles of your own,
against any HTTP service. The default profile is then the only one of the folder,
else service for scripts that use no process. A term of --select that names only
built-in scenarios adds those.`,
		Example: `  # every scenario, against the embedded gateway
  assay conform

  # your own gateway, as a CI gate with evidence
  assay conform http://127.0.0.1:8081 --profile e2b --report junit=junit.xml --out run

  # start the gateway, test it, stop it; then run only the failures, ten times each
  assay conform http://127.0.0.1:8081 --exec ./gateway --out run
  assay conform --rerun run --exec ./gateway --repeat 10

  # as a gate with a list of known failures
  assay conform http://127.0.0.1:8081 --known known.yaml

  # a first list: the failures of today, each with a reason to fill in
  assay conform http://127.0.0.1:8081 --write-known known.yaml

  # a third of the scenarios on each of three machines, and then one report
  assay conform http://127.0.0.1:8081 --shard 1/3 --out shard-1
  assay report shard-1 shard-2 shard-3

  # any HTTP service, with rules and scenarios of your own
  assay conform http://127.0.0.1:8090 --scenarios my

  # only the Connect scenarios, without the proto codec
  assay conform http://127.0.0.1:8081 --select 'connect.*,!axis:proto'`,
		Args:              between(0, 1, "want at most one URL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			return conform(c, io, f, args)
		},
	}
	f.target.register(c)
	f.output.register(c)
	f.output.registerCI(c)
	f.output.registerVerbose(c)
	f.memory.register(c)
	f.lease.register(c)
	f.quiet.register(c)
	fs := c.Flags()
	f.live.register(fs)
	fs.StringVar(&f.profile, "profile", "", "what the gateway claims to be: "+strings.Join(scenarios.ProfileNames(), ", ")+", or a file")
	fs.StringVar(&f.selection, "select", "", "run only the scenarios that match these terms")
	fs.IntVarP(&f.jobs, "jobs", "j", 8, "number of concurrent scenarios, besides as many that mostly wait")
	fs.BoolVar(&f.strict, "strict", false, "broken should and may rules also fail")
	fs.BoolVar(&f.destructive, "destructive", false, "also run scenarios that can kill the gateway")
	fs.BoolVar(&f.slow, "slow", false, "also run scenarios that wait long")
	fs.StringVar(&f.known, "known", "", "`FILE` with known failures, which do not fail the run (format: assay schema known)")
	fs.StringVar(&f.writeKnown, "write-known", "", "write the failures of this run as a first list for --known to `FILE`, which must not exist")
	fs.StringVar(&f.shard, "shard", "", "run only part `I/N` of the selection, for example 2/3 (assay report merges the bundles)")
	fs.StringVar(&f.out, "out", "", "directory for the bundle: evidence, verdicts and report")
	f.outLimit = bundle.DefaultLimit
	fs.Var(&f.outLimit, "out-limit", "maximum size of the bundle; the report names omitted evidence")
	fs.StringVar(&f.scenarios, "scenarios", "", "folder of scripts to run instead of the built-in ones (AREA/NAME.yaml, rules.yaml, profiles/NAME.yaml)")
	fs.StringVar(&f.rerun, "rerun", "", "run only the failed or undecided scenarios of this bundle (exit 5 if there are none)")
	fs.IntVar(&f.repeat, "repeat", 1, "run every scenario N times")
	fs.DurationVar(&f.budget, "budget", 0, "time for the whole run: then running scenarios are stopped, and the others are skipped")
	fs.DurationVar(&f.wait, "wait", 0, "wait this long for the gateway to accept connections (with --exec: 30s)")
	fs.IntVar(&f.reproduce, "reproduce", defaultReproduce, "at the end, reproduce up to N failing scenarios, also with curl lines and shell scripts (0: none)")
	fs.StringVar(&f.exec, "exec", "", "start the gateway with this command line, and stop it afterwards")
	fs.BoolVar(&f.dryRun, "dry-run", false, "list the scenarios that would run, and exit")
	return c
}

// options validates all flags before any work.
func (f *conformFlags) options(args []string) (suites.Options, error) {
	url := ""
	if len(args) > 0 {
		url = args[0]
	}
	again, err := f.takeAgain(url)
	if err != nil {
		return suites.Options{}, err
	}
	f.again, url = again, again.url
	t, err := f.target.options(url)
	if err != nil {
		return suites.Options{}, err
	}
	if err := f.lease.options(&t, f.exec); err != nil {
		return suites.Options{}, err
	}
	if err := f.live.validate(); err != nil {
		return suites.Options{}, err
	}
	if f.jobs < 1 || f.jobs > 256 {
		return suites.Options{}, errors.New("--jobs: want 1 to 256")
	}
	if f.repeat < 1 || f.repeat > 10000 {
		return suites.Options{}, errors.New("--repeat: want 1 to 10000")
	}
	if f.wait < 0 || f.budget < 0 {
		return suites.Options{}, errors.New("--wait and --budget: want a positive duration, for example 30s")
	}
	if f.outLimit < bundle.MinLimit || f.outLimit > bundle.MaxLimit {
		return suites.Options{}, fmt.Errorf("--out-limit %s: want %s to %s", &f.outLimit, bundle.Megabytes(bundle.MinLimit), bundle.Megabytes(bundle.MaxLimit))
	}
	if f.exec != "" && url == "" {
		return suites.Options{}, errors.New("--exec: also give the URL of the gateway")
	}
	if f.exec != "" && f.wait == 0 {
		f.wait = execWait
	}
	if f.reproduce < 0 || f.reproduce > 1000 {
		return suites.Options{}, errors.New("--reproduce: want 0 to 1000")
	}
	memory, err := f.memory.apply()
	if err != nil {
		return suites.Options{}, err
	}
	known, err := knownFrom(f.known)
	if err != nil {
		return suites.Options{}, err
	}
	if err := mayWriteKnown(f.writeKnown); err != nil {
		return suites.Options{}, err
	}
	shard, err := suites.ParseShard(f.shard)
	if err != nil {
		return suites.Options{}, fmt.Errorf("--shard: %w", err)
	}
	return suites.Options{
		Target: t, Known: known, Profile: f.profile, ProfileText: again.profile, Select: f.selection, Scenarios: f.scenarios, Only: again.only, Shard: shard,
		Jobs: f.jobs, Repeat: f.repeat, Budget: f.budget, Wait: f.wait, Strict: f.strict,
		Destructive: f.destructive, Slow: f.slow, Seed: f.target.seed, Out: f.out, OutLimit: int64(f.outLimit), Memory: memory, Version: version,
		Reproduce: f.reproduce, Flags: f.replayFlags(), CACert: f.target.caCert,
	}, f.output.validate()
}

// defaultReproduce is the default of --reproduce; a time limit applies as well.
const defaultReproduce = 20

// replayFlags returns the flags that the replay of a failure needs.
func (f *conformFlags) replayFlags() []string {
	words := append(f.target.words(), f.lease.words()...)
	if f.again.replay != "" {
		words = append(words, "--profile", f.again.replay)
	}
	if f.scenarios != "" {
		words = append(words, "--scenarios", f.scenarios)
	}
	return words
}

// execWait is the default of --wait with --exec.
const execWait = 30 * time.Second

func conform(c *cobra.Command, io stdio, f conformFlags, args []string) error {
	o, err := f.options(args)
	if err != nil {
		return usage(err)
	}
	io.guard.hide(o.Target.Secrets())
	io = io.quieted(f.quiet)
	if f.again.said != "" {
		io.notef("assay: %s\n", f.again.said)
	}
	o.Log = logger(io)
	o.Progress = newProgress(io.progress())
	if f.output.verbose {
		o.Specs = io.progress().err
	}
	if f.dryRun {
		return f.nothingAgain(dryRun(io, f.output.format, o))
	}
	ui, err := f.live.serve(c.Context(), io, conformFace())
	if err != nil {
		return err
	}
	defer ui.Close()
	o.Progress = &liveConform{Progress: o.Progress, page: ui}
	if f.exec != "" {
		gateway, err := startChild(io, f.exec)
		if err != nil {
			return &exitError{exitUnreachable, err}
		}
		defer gateway.stop(io)
		o.Restart = func(ctx context.Context) { gateway.restart(ctx, io) }
		if err := gateway.up(c.Context(), o); err != nil {
			return nothingRun(err)
		}
	}
	release, err := f.lease.create(c.Context(), io, &o.Target)
	if err != nil {
		return nothingRun(err)
	}
	defer release()
	out, err := suites.Run(c.Context(), o)
	showEnd(ui, conformEnd(out), err)
	if out == nil {
		return f.nothingAgain(nothingRun(err))
	}
	reports.Annotate(out.Report, out.Observations, out.Verdicts, excerptWidth(io))
	err = errors.Join(err, writeKnown(io, f.writeKnown, out))
	if err := errors.Join(err, f.output.write(io, drawRun(out.Report))); err != nil {
		return defect(err)
	}
	return code(out.Report.Exit)
}
