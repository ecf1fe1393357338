package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"assay/internal/record/bundle"
	"assay/reports"
	"assay/reports/page"
	"assay/suites"
)

// conformFlags are the flags of conform.
type conformFlags struct {
	suites.Options
	reachFlags
	output outputFlags
	memory memoryFlag
	quiet  quietFlag
	live   liveFlag
	child  childFlags

	known, writeKnown, shard, rerun string
	outLimit                        sizeValue
	dryRun                          bool

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
	f.register(c)
	f.output.register(c)
	f.output.registerCI(c)
	f.output.registerVerbose(c)
	f.memory.register(c)
	f.quiet.register(c)
	fs := flagsOf(c)
	f.live.register(fs)
	f.child.register(fs)
	fs.profile(&f.Profile, "what the gateway claims to be: ")
	fs.StringVar(&f.Select, "select", "", "run only the scenarios that match these terms")
	fs.jobs(&f.Jobs)
	fs.strict(&f.Strict)
	fs.BoolVar(&f.Destructive, "destructive", false, "also run scenarios that can kill the gateway")
	fs.BoolVar(&f.Slow, "slow", false, "also run scenarios that wait long")
	fs.StringVar(&f.known, "known", "", "`FILE` with known failures, which do not fail the run (format: assay schema known)")
	fs.StringVar(&f.writeKnown, "write-known", "", "write the failures of this run as a first list for --known to `FILE`, which must not exist")
	fs.StringVar(&f.shard, "shard", "", "run only part `I/N` of the selection, for example 2/3 (assay report merges the bundles)")
	fs.StringVar(&f.Out, "out", "", "directory for the bundle: evidence, verdicts and report")
	f.outLimit = bundle.DefaultLimit
	fs.Var(&f.outLimit, "out-limit", "maximum size of the bundle; the report names omitted evidence")
	registerScenarios(c, &f.Scenarios, "folder of scripts to run instead of the built-in ones (AREA/NAME.yaml, rules.yaml, profiles/NAME.yaml)")
	fs.StringVar(&f.rerun, "rerun", "", "run only the failed or undecided scenarios of this bundle (exit 5 if there are none)")
	fs.within(&f.Repeat, "repeat", "", 1, 1, 10000, "run every scenario N times")
	fs.DurationVar(&f.Budget, "budget", 0, "time for the whole run: then running scenarios are stopped, and the others are skipped")
	// A time limit applies to the reproducers as well.
	fs.within(&f.Reproduce, "reproduce", "", 20, 0, 1000, "at the end, reproduce up to N failing scenarios, also with curl lines and shell scripts (0: none)")
	fs.BoolVar(&f.dryRun, "dry-run", false, "list the scenarios that would run, and exit")
	return c
}

// complete validates the rest of the flags before any work, and completes the options of the run.
func (f *conformFlags) complete(fs flags, args []string) (err error) {
	if f.again, err = f.takeAgain(fs, argument(args, 0)); err != nil {
		return err
	}
	if f.Target, err = f.options(f.again.url, f.child.exec); err != nil {
		return err
	}
	if f.child.wait < 0 || f.Budget < 0 {
		return errors.New("--wait and --budget: want a positive duration, for example 30s")
	}
	if f.outLimit < bundle.MinLimit || f.outLimit > bundle.MaxLimit {
		return fmt.Errorf("--out-limit %s: want %s to %s", &f.outLimit, bundle.Megabytes(bundle.MinLimit), bundle.Megabytes(bundle.MaxLimit))
	}
	if f.Wait, err = f.child.options(f.again.url); err != nil {
		return err
	}
	if f.Memory, err = f.memory.apply(); err != nil {
		return err
	}
	if f.Known, err = knownFrom(f.known); err != nil {
		return err
	}
	if err := mayWriteKnown(f.writeKnown); err != nil {
		return err
	}
	if f.Shard, err = suites.ParseShard(f.shard); err != nil {
		return fmt.Errorf("--shard: %w", err)
	}
	f.ProfileText, f.Only, f.Seed, f.OutLimit, f.Version = f.again.profile, f.again.only, f.target.seed, int64(f.outLimit), version
	f.Flags, f.CACert = f.replayFlags(fs), f.target.caCert
	return f.output.validate()
}

// replayFlags returns the flags that the replay of a failure needs.
func (f *conformFlags) replayFlags(fs flags) []string {
	words := fs.words(nil)
	if f.again.replay != "" {
		words = append(words, "--profile", f.again.replay)
	}
	if f.Scenarios != "" {
		words = append(words, "--scenarios", f.Scenarios)
	}
	return words
}

func conform(c *cobra.Command, io stdio, f conformFlags, args []string) error {
	if err := f.complete(flagsOf(c), args); err != nil {
		return usage(err)
	}
	o := f.Options
	io.guard.hide(o.Target.Secrets())
	io = io.quieted(f.quiet)
	if f.again.said != "" {
		io.notef("assay: %s\n", f.again.said)
	}
	o.Log = logger(io)
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
	o.Progress = newProgress(io.progress(), ui)
	stop, err := f.child.start(c.Context(), io, &o)
	if err != nil {
		return err
	}
	defer stop()
	release, err := f.lease.create(c.Context(), io, &o.Target)
	if err != nil {
		return nothingRun(err)
	}
	defer release()
	out, err := suites.Run(c.Context(), o)
	if out == nil {
		showEnd(ui, page.Verdict{}, err)
		return f.nothingAgain(nothingRun(err))
	}
	showEnd(ui, reports.Ending(out.Report), err)
	reports.Annotate(out.Report, out.Observations, out.Verdicts, excerptWidth(io))
	err = errors.Join(err, writeKnown(io, f.writeKnown, out))
	if err := errors.Join(err, f.output.write(io, drawing(reports.Conform().Render, out.Report))); err != nil {
		return defect(err)
	}
	return code(out.Report.Exit)
}
