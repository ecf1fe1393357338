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
		Short: "Prove that a stored run is what was sealed, and judge it again",
		Long: `Holds a bundle against its manifest and against itself: the size and SHA-256
digest of every file, no other files, the published schema of every file, the
verdicts derived from the evidence again and compared with those that are stored,
and the result compared with the verdicts.

A digest tells of a change, and not who made it: whoever changes a bundle can
write a new manifest as well, but not evidence that gives other verdicts.

Exit codes: 0 good · 1 not good, or unfinished · 2 not a bundle, or a newer one`,
		Example: `  # is the evidence still what the run left behind?
  assay verify run

  # for a program
  assay verify run --format json`,
		Args: exactly(1, "want the directory of a bundle"),
		RunE: func(_ *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return usage(fmt.Errorf("--format %q: want text or json", format))
			}
			return verifyBundle(io, format, args[0])
		},
	}
	c.Flags().StringVar(&format, "format", "text", "what goes to stdout: text or json")
	return c
}

func verifyBundle(io stdio, format, dir string) error {
	v, err := bundle.Verify(dir)
	if err != nil {
		return usage(err)
	}
	by := bundle.Tool{Name: "assay", Version: version}
	v.By = by
	if v.Kind != bundle.KindLoad {
		verifyVerdicts(dir, by, v)
	}
	if format == "json" {
		err = reports.VerificationJSON(io.out, v)
	} else {
		err = reports.Verification(io.out, v, style(io.out, false))
	}
	if err != nil {
		return defect(err)
	}
	return code(v.Exit)
}

// verifyVerdicts judges the bundle again. What keeps it from being judged is a
// problem of the bundle.
func verifyVerdicts(dir string, by bundle.Tool, v *bundle.Verification) {
	b, err := bundle.Open(dir)
	if err != nil {
		v.Add(bundle.ProblemUnreadable, "", err.Error())
		return
	}
	if v.Tool.Name == "" {
		v.Tool, v.Run = b.Run.Tool, b.Run.ID
	}
	j, err := judgeOf(b, "", false)
	if err != nil {
		v.Add(bundle.ProblemUnreadable, "", err.Error())
		return
	}
	j.Verify(b, by, v)
}
