package main

import (
	"github.com/spf13/cobra"

	"assay/internal/judge/outcome"
	"assay/internal/load"
	"assay/internal/load/soak"
	"assay/internal/record/bundle"
	"assay/reports"
)

func newReport(io stdio) *cobra.Command {
	var f outputFlags
	var own string
	var compare bool
	c := &cobra.Command{
		Use:   "report BUNDLE…",
		Short: "Render the report of a stored run in any format",
		Long: `Renders the report in a bundle. The stored verdicts are not judged again (see
` + "`assay judge`" + `), unless the run was killed before its bundle was complete. The
exit code is that of the run; a killed load run is reported up to its last second,
with exit code 130.

Several bundles are merged into one report if they are shards of one run: the same
version of assay ran different scenarios against the same target and profile. The
bundle of a load run is rendered in the same formats, by itself; that of a soak in
text, json, junit, markdown, html, github and github-summary.

--matrix compares the runs of several gateways, one column each: bundles of conform,
or their reports as JSON; NAME=BUNDLE names a column. Rows are the rules, must apart
from should; rules on which all agree are counted by area. A second column says how
the responses ended, and a legend defines every word. The formats are text, markdown,
html and json (assay schema matrix). The exit code is 0 when the matrix could be
made, whatever the runs concluded.`,
		Example: `  # for a pull request
  assay report run --format markdown

  # all formats at once
  assay report run --report junit=junit.xml,json=report.json,markdown=report.md

  # two halves of the catalogue that ran on two machines
  assay report half-1 half-2 --format junit

  # three gateways side by side
  assay report --matrix ours=run-1 theirs=run-2 reference=run-3 --format markdown`,
		Args: between(1, -1, "want the directory of a bundle, or of each shard"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.validate(); err != nil {
				return usage(err)
			}
			if compare {
				return drawMatrix(io, f, own, args)
			}
			return drawReport(io, f, own, args)
		},
	}
	f.register(c)
	f.registerVerbose(c)
	c.Flags().BoolVar(&compare, "matrix", false, "compare the runs of several gateways, rule by rule: BUNDLE or NAME=BUNDLE for each")
	registerScenarios(c, &own, "folder whose rules.yaml to use for a run that was killed, and for merged shards, instead of the bundle's")
	return c
}

func drawReport(io stdio, f outputFlags, own string, dirs []string) error {
	if len(dirs) == 1 && isLoad(dirs[0]) {
		return redrawLoad(io, f, dirs[0])
	}
	if len(dirs) == 1 && soak.Is(dirs[0]) {
		return redrawSoak(io, f, dirs[0])
	}
	var shards []outcome.Shard
	for _, dir := range dirs {
		s, err := shard(io, dir, own)
		if err != nil {
			return err
		}
		shards = append(shards, s)
	}
	r, err := merged(shards, own)
	if err != nil {
		return err
	}
	if err := f.write(io, drawing(reports.Conform().Render, r)); err != nil {
		return defect(err)
	}
	return code(r.Exit)
}

// redrawLoad renders the report of a load run.
func redrawLoad(io stdio, f outputFlags, dir string) error {
	s, err := load.Open(dir)
	if err != nil {
		return usage(err)
	}
	return driven(io, f, reports.Load().Render, s.Report, nil)
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
	return driven(io, f, reports.Soak().Render, r, nil)
}

// merged returns the report of all shards; a single bundle keeps its own.
func merged(shards []outcome.Shard, own string) (*bundle.Report, error) {
	first := shards[0]
	if len(shards) == 1 {
		return first.Report, nil
	}
	j, err := judgeOf(&bundle.Bundle{Dir: first.Name, Run: first.Run}, judging{scenarios: own})
	if err != nil {
		return nil, err
	}
	r, err := outcome.Merge(j.Rules, j.Known, shards)
	return r, usage(err)
}

// shard returns the stored result of a bundle, or judges the evidence of an
// incomplete one.
func shard(io stdio, dir, own string) (outcome.Shard, error) {
	b, err := bundle.Open(dir)
	if err != nil {
		return outcome.Shard{}, usage(err)
	}
	warnPartial(io, b)
	s, _, err := settled(io, b, own)
	return s, err
}

// settled returns the result of a bundle, and whether its evidence was judged now.
func settled(io stdio, b *bundle.Bundle, own string) (s outcome.Shard, now bool, err error) {
	s = outcome.Shard{Name: b.Dir, Run: b.Run, Observations: b.Observations, Verdicts: b.Verdicts, Report: b.Report}
	if b.Unfinished || b.Report == nil || b.Verdicts == nil {
		now = true
		io.errorf("assay: %s: the run ended before its report was complete; its evidence was judged now\n", b.Dir)
		s.Verdicts, s.Report, err = judged(b, judging{scenarios: own})
	}
	if err == nil {
		reports.Annotate(s.Report, b.Observations, s.Verdicts, excerptWidth(io))
	}
	return s, now, err
}
