package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"assay/internal/bundle"
	"assay/reports"
)

func newVerify(io stdio) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "verify BUNDLE",
		Short: "Check that a stored run is intact and yields the same verdicts",
		Long: `Checks a bundle against its manifest and for consistency: the size and SHA-256
digest of every file, the absence of other files, the schema of every file, the
stored verdicts against verdicts derived again from the evidence, and the result
against the verdicts.

A digest shows a change, not its author: whoever edits a bundle can write a new
manifest, but cannot produce evidence that yields other verdicts.

Exit codes: 0 good · 1 not good, or unfinished · 2 not a bundle, or a newer format`,
		Example: `  # is the evidence unchanged?
  assay verify run

  # as JSON
  assay verify run --format json`,
		Args: exactly(1, "want the directory of a bundle"),
		RunE: func(_ *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return usage(fmt.Errorf("--format %q: want text or json", format))
			}
			return verifyBundle(io, format, args[0])
		},
	}
	c.Flags().StringVar(&format, "format", "text", "format on stdout: text or json")
	return c
}

func verifyBundle(io stdio, format, dir string) error {
	v, err := bundle.Verify(dir)
	if err != nil {
		return usage(err)
	}
	by := bundle.Tool{Name: "assay", Version: version}
	v.By = by
	switch v.Kind {
	case bundle.KindLoad:
	case bundle.KindSoak:
		verifySoak(dir, v)
	default:
		verifyVerdicts(dir, by, v)
	}
	if format == "json" {
		err = reports.VerificationJSON(io.out.To, v)
	} else {
		err = reports.Verification(io.out.To, v, style(io.out.To, false))
	}
	if err != nil {
		return defect(err)
	}
	return code(v.Exit)
}

// verifyVerdicts judges the bundle again. An error is a problem of the bundle.
func verifyVerdicts(dir string, by bundle.Tool, v *bundle.Verification) {
	b, err := bundle.Open(dir)
	if err != nil {
		v.Add(bundle.ProblemUnreadable, "", err.Error())
		return
	}
	if v.Tool.Name == "" {
		v.Tool, v.Run = b.Run.Tool, b.Run.ID
	}
	j, err := judgeOf(b, judging{})
	if err != nil {
		v.Add(bundle.ProblemUnreadable, "", err.Error())
		return
	}
	j.Verify(b, by, v)
}
