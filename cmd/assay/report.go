package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"assay/internal/bundle"
	"assay/internal/judge"
	"assay/internal/load"
	"assay/reports"
)

func newReport(io stdio) *cobra.Command {
	var f outputFlags
	c := &cobra.Command{
		Use:   "report BUNDLE…",
		Short: "Draw the report of a stored run again, in any format",
		Long: `Draws the report that a run left in its bundle. Nothing is judged anew (see
` + "`assay judge`" + ` for that), except when the run was killed before its bundle
was complete. The exit code is the one of the run.

Several bundles are the shards of one run, and give one report: the same version
of assay ran different scenarios against the same target and profile. The report
of a run under load is drawn as text or JSON.`,
		Example: `  # for a pull request
  assay report run --format markdown

  # everything at once
  assay report run --report junit=junit.xml,json=report.json,markdown=report.md

  # two halves of the catalogue that ran on two machines
  assay report half-1 half-2 --format junit`,
		Args: between(1, -1, "want the directory of a bundle, or of each shard of a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.validate(); err != nil {
				return usage(err)
			}
			return drawReport(io, f, args)
		},
	}
	f.register(c)
	return c
}

func drawReport(io stdio, f outputFlags, dirs []string) error {
	if len(dirs) == 1 && isLoad(dirs[0]) {
		return redrawLoad(io, f, dirs[0])
	}
	var shards []judge.Shard
	for _, dir := range dirs {
		s, err := shard(io, dir)
		if err != nil {
			return err
		}
		shards = append(shards, s)
	}
	r, err := merged(shards)
	if err != nil {
		return err
	}
	if err := f.write(io, r); err != nil {
		return defect(err)
	}
	return code(r.Exit)
}

// redrawLoad draws the report of a run under load, which has two formats.
func redrawLoad(io stdio, f outputFlags, dir string) error {
	if f.format != "text" && f.format != "json" || len(f.reports) > 0 {
		return usage(fmt.Errorf("%s is a run under load: its report is drawn as --format text or json, to stdout", dir))
	}
	s, err := load.Open(dir)
	if err != nil {
		return usage(err)
	}
	return loadResult(io, f.format, s.Report, nil)
}

// merged is the report of all shards, one bundle its own.
func merged(shards []judge.Shard) (*bundle.Report, error) {
	first := shards[0]
	if len(shards) == 1 {
		return first.Report, nil
	}
	j, err := judgeOf(&bundle.Bundle{Dir: first.Name, Run: first.Run}, "", false)
	if err != nil {
		return nil, err
	}
	r, err := j.Merge(shards)
	return r, usage(err)
}

// shard is the result of one bundle: the one that it holds, or, when it is not
// complete, that of what there is.
func shard(io stdio, dir string) (judge.Shard, error) {
	b, err := bundle.Open(dir)
	if err != nil {
		return judge.Shard{}, usage(err)
	}
	warnPartial(io, b)
	s := judge.Shard{Name: dir, Run: b.Run, Observations: b.Observations, Verdicts: b.Verdicts, Report: b.Report}
	if b.Unfinished || b.Report == nil || b.Verdicts == nil {
		io.errorf("assay: %s: the run ended before its report was complete; what there is was judged now\n", dir)
		s.Verdicts, s.Report, err = judged(b, "", false)
	}
	if err == nil {
		reports.Annotate(s.Report, b.Observations, s.Verdicts, excerptWidth(io))
	}
	return s, err
}
