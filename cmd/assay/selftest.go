package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"assay/fakes/zoo"
	"assay/internal/base/termsafe"
	"assay/internal/command/selftest"
	"assay/reports"
	"assay/scenarios"
	"assay/suites"
)

// selftestFlags are the flags of selftest.
type selftestFlags struct {
	selftest.Options
	format, shard string
	quiet         quietFlag
}

func newSelftest(io stdio) *cobra.Command {
	var f selftestFlags
	c := &cobra.Command{
		Use:   "selftest",
		Short: "Check that the scenarios detect every fault and accept every variant",
		Long: `Runs the scenarios against the reference gateway with each fault and each variant
in turn. The exit code is 1 when a fault survives or a variant fails; with --full
also when a fault breaks a rule that does not follow from the rules it names, or
has more than two causes.

What did not pass beside other gateways is confirmed at the end: the same scenario
runs again with nothing beside it, and that result counts.

--full takes hours. --shard K/N runs one of N parts of the faults and variants, which
are disjoint and together all of them; each runs the reference gateway too.`,
		Example: `  # the kill matrix
  assay selftest

  # only the scenarios of a profile, and the faults that they must see
  assay selftest --profile stdio

  # one fault, every scenario, as JSON
  assay selftest --fault tail-lost --full --format json

  # everything in a week, a part each day
  assay selftest --full --shard $(($(date +%s) / 86400 % 7 + 1))/7`,
		Args:              exactly(0, "selftest takes none"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			return runSelftest(c, io, f)
		},
	}
	f.quiet.register(c)
	fs := flagsOf(c)
	fs.StringSliceVar(&f.Faults, "fault", nil, "only these faults")
	fs.StringSliceVar(&f.Variants, "variant", nil, "only these variants")
	fs.profile(&f.Profile, "only the scenarios of this profile, and the faults that break their rules: ")
	fs.BoolVar(&f.Full, "full", false, "run every scenario against every fault; list idle scenarios and everything that each fault breaks")
	fs.StringVar(&f.shard, "shard", "", "run only part `K/N` of the faults and variants, for example 2/7")
	formats := strings.Join(reports.Selftest().Formats(), ", ")
	fs.word(&f.format, "format", "text", formats, "one of "+formats, reports.Selftest().Formats()...)
	fs.jobs(&f.Jobs)
	fs.Uint64Var(&f.Seed, "seed", 1, "seed of all random choices")
	return c
}

func runSelftest(c *cobra.Command, io stdio, f selftestFlags) error {
	if f.Profile != "" {
		if _, err := scenarios.LoadProfile(f.Profile); err != nil {
			return usage(err)
		}
	}
	shard, err := suites.ParseShard(f.shard)
	if err != nil {
		return usage(fmt.Errorf("--shard: %w", err))
	}
	build, err := thisBuild()
	if err != nil {
		return defect(err)
	}
	io = io.quieted(f.quiet)
	_, tty := terminal(io.progress().err.To)
	o := f.Options
	o.Shard, o.Version, o.Build, o.Log, o.Step = selftest.Shard(shard), version, build, logger(io), stepper(io.progress(), tty)
	report, err := selftest.Run(c.Context(), o)
	var unknown *zoo.UnknownError
	var slow *selftest.SlowFaultError
	var empty *selftest.EmptyShardError
	switch {
	case errors.As(err, &empty):
		return usage(fmt.Errorf("--shard %s: %w", f.shard, err))
	case errors.As(err, &slow):
		return usage(err)
	case errors.As(err, &unknown):
		return usage(inZoo(err))
	case err != nil && c.Context().Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted")}
	case err != nil:
		return defect(err)
	}
	if err := reports.Selftest().Render(io.out.To, f.format, report, style(io.out.To, false)); err != nil {
		return defect(err)
	}
	return code(report.Exit)
}

// stepper prints the gateway under test: one overwritten line on a terminal, one
// line each elsewhere.
func stepper(io stdio, tty bool) func(done, total int, name string) {
	return func(done, total int, name string) {
		switch {
		case tty && name == "":
			_, _ = fmt.Fprint(io.err.To, "\r\x1b[K")
		case tty:
			_, _ = fmt.Fprintf(io.err.To, "\r\x1b[K%d/%d %s", done+1, total, termsafe.Text(name))
		case name != "":
			io.errorf("%d/%d %s\n", done+1, total, name)
		}
	}
}
