package main

import (
	"github.com/spf13/cobra"

	"assay/internal/bundle"
	"assay/internal/judge"
	"assay/scenarios"
)

// judgeFlags are the flags of judge.
type judgeFlags struct {
	output  outputFlags
	profile string
	strict  bool
}

func newJudge(io stdio) *cobra.Command {
	var f judgeFlags
	c := &cobra.Command{
		Use:   "judge BUNDLE",
		Short: "Judge a stored run again, without a network",
		Long: `Judges the observations of a bundle by the rules of this program. The scripts
are those of the bundle; the profile is the one of the run unless --profile
names another.`,
		Example: `  # the verdicts of a stored run
  assay judge run

  # the same evidence, held against another profile, for a program
  assay judge run --profile e2b --format json`,
		Args: exactly(1, "want the directory of a bundle"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.output.validate(); err != nil {
				return usage(err)
			}
			return judgeBundle(io, f, args[0])
		},
	}
	f.output.register(c)
	c.Flags().StringVar(&f.profile, "profile", "", "judge by this profile instead of the run's")
	c.Flags().BoolVar(&f.strict, "strict", false, "broken should and may rules fail, too")
	return c
}

func judgeBundle(io stdio, f judgeFlags, dir string) error {
	b, err := bundle.Open(dir)
	if err != nil {
		return usage(err)
	}
	for _, p := range b.Partial {
		io.errorf("assay: %s: %s\n", dir, p)
	}
	rules, err := scenarios.Load()
	if err != nil {
		return defect(err)
	}
	name := f.profile
	if name == "" {
		name = b.Run.Profile
	}
	profile, err := scenarios.LoadProfile(name)
	if err != nil {
		return usage(err)
	}
	j := &judge.Judge{Rules: rules, Profile: profile, Strict: f.strict || b.Run.Strict}
	_, report, err := j.Bundle(b)
	if err != nil {
		return usage(err)
	}
	if err := f.output.write(io, report); err != nil {
		return defect(err)
	}
	return code(report.Exit)
}
