package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"assay/internal/judge/diff"
	"assay/internal/record/bundle"
	"assay/reports"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	format, threshold string
	verbose           bool
}

func newDiff(io stdio) *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two runs",
		Long: `Compares two runs: bundles (conform --out), reports (--format json), or two
directories or reports of load. Lists verdicts that got worse or better, new and
missing scenarios and rules, and changes in legal responses, features and latencies.

Latencies are compared with the Mann-Whitney U test at 5 % over all comparisons
together. The samples are one value per scenario for a run, the iterations of a
repeated scenario (--repeat), and the quantiles of each second for load. When there
are too few samples, the report says how many are needed.

The exit code is 1 when a verdict got worse, or a latency grew by more than
--latency-threshold; 2 when the runs cannot be compared; otherwise 0.`,
		Example: `  # against the run of the main branch, as a gate
  assay diff main-run this-run

  # for a comment on a pull request; a median 20 % slower also fails
  assay diff main-run this-run --format markdown --latency-threshold 20%

  # two load runs
  assay diff load-before load-after`,
		Args:              exactly(2, "want two runs to compare"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE: func(_ *cobra.Command, args []string) error {
			return diffRuns(io, f, args[0], args[1])
		},
	}
	fs := flagsOf(c)
	fs.format(&f.format, "format on stdout: text, json or markdown", "text", "json", "markdown")
	fs.StringVar(&f.threshold, "latency-threshold", "", "fail when a median grew significantly by more than this `SHARE` (for example 20%)")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "also list unchanged latencies")
	return c
}

// options validates all flags before any work.
func (f *diffFlags) options() (diff.Options, error) {
	if f.threshold == "" {
		return diff.Options{}, nil
	}
	number, percent := strings.CutSuffix(strings.TrimSpace(f.threshold), "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !percent || !(share > 0 && share <= 1e6) {
		return diff.Options{}, fmt.Errorf("--latency-threshold %q: want a positive share, for example 20%%", f.threshold)
	}
	return diff.Options{Threshold: share / 100}, nil
}

func diffRuns(io stdio, f diffFlags, a, b string) error {
	o, err := f.options()
	if err != nil {
		return usage(err)
	}
	was, err := readCompared(a)
	if err != nil {
		return usage(err)
	}
	now, err := readCompared(b)
	if err != nil {
		return usage(err)
	}
	var d *bundle.Diff
	switch {
	case was.run != nil && now.run != nil:
		d = diff.Runs(*was.run, *now.run, o)
	case was.load != nil && now.load != nil:
		d = diff.Loads(*was.load, *now.load, o)
	default:
		return usage(errors.New("one is a conform run, the other a load run: they cannot be compared"))
	}
	if err := drawDiff(io, f, d); err != nil {
		return defect(fmt.Errorf("writing the comparison to stdout: %w", err))
	}
	return code(d.Exit)
}

func drawDiff(io stdio, f diffFlags, d *bundle.Diff) error {
	return reports.Diff().Render(io.out.To, f.format, d, style(io.out.To, f.verbose))
}
