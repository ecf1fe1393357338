package main

import (
	"github.com/spf13/cobra"

	"assay/internal/bundle"
)

func newReport(io stdio) *cobra.Command {
	var f outputFlags
	c := &cobra.Command{
		Use:   "report BUNDLE",
		Short: "Draw the report of a stored run again, in any format",
		Long: `Draws the report that a run left in its bundle. Nothing is judged anew (see
` + "`assay judge`" + ` for that), except when the run was killed before it could
write one. The exit code is the one of the run.`,
		Example: `  # for a pull request
  assay report run --format markdown

  # everything at once
  assay report run --report junit=junit.xml,json=report.json,markdown=report.md`,
		Args: exactly(1, "want the directory of a bundle"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.validate(); err != nil {
				return usage(err)
			}
			return drawReport(io, f, args[0])
		},
	}
	f.register(c)
	return c
}

func drawReport(io stdio, f outputFlags, dir string) error {
	b, err := bundle.Open(dir)
	if err != nil {
		return usage(err)
	}
	for _, p := range b.Partial {
		io.errorf("assay: %s: %s\n", dir, p)
	}
	r := b.Report
	if r == nil {
		io.errorf("assay: %s: the run ended before its report was written; what there is was judged now\n", dir)
		if r, err = judged(b, "", false); err != nil {
			return err
		}
	}
	if err := f.write(io, r); err != nil {
		return defect(err)
	}
	return code(r.Exit)
}
