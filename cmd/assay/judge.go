package main

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"

	"assay/internal/judge"
	"assay/internal/record/bundle"
	"assay/reports"
	"assay/scenarios"
)

// judgeFlags are the flags of judge.
type judgeFlags struct {
	output outputFlags
	judging
}

// judging says how to judge a bundle; the zero value is as the run did, by the rules of this program.
type judging struct {
	profile   string // "" for that of the run
	scenarios string // folder of rules and profiles, "" for those of the bundle
	strict    bool
}

func newJudge(io stdio) *cobra.Command {
	var f judgeFlags
	c := &cobra.Command{
		Use:   "judge BUNDLE",
		Short: "Judge a stored run again, without a network",
		Long: `Judges the observations of a bundle by the rules of this program, with the scripts
of the bundle and, unless --profile names another, the profile of the run. Lists
the verdicts that differ from the stored ones; with --format json they are in the
field "changed". For a run with scenarios of your own, the bundle keeps their rules
and profile; --scenarios takes newer ones from the folder.`,
		Example: `  # the verdicts of a stored run
  assay judge run

  # the same evidence against another profile, as JSON
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
	f.output.registerVerbose(c)
	c.Flags().StringVar(&f.profile, "profile", "", "profile to use instead of the run's")
	registerScenarios(c, &f.scenarios, "folder whose rules.yaml and profiles to use instead of the bundle's")
	flagsOf(c).strict(&f.strict)
	return c
}

func judgeBundle(io stdio, f judgeFlags, dir string) error {
	b, err := bundle.Open(dir)
	if err != nil {
		return usage(err)
	}
	warnPartial(io, b)
	verdicts, report, err := judged(b, f.judging)
	if err != nil {
		return err
	}
	if b.Verdicts != nil {
		report.Changed = judge.Changed(b.Verdicts, verdicts)
	}
	reports.Annotate(report, b.Observations, verdicts, excerptWidth(io))
	if err := f.output.write(io, drawing(reports.Conform().Render, report)); err != nil {
		return defect(err)
	}
	return code(report.Exit)
}

// warnPartial prints the missing parts of a bundle to stderr.
func warnPartial(io stdio, b *bundle.Bundle) {
	for _, p := range b.Partial {
		io.errorf("assay: %s: %s\n", b.Dir, p)
	}
}

// judged judges a bundle by the rules of this program.
func judged(b *bundle.Bundle, how judging) ([]bundle.Verdict, *bundle.Report, error) {
	j, err := judgeOf(b, how)
	if err != nil {
		return nil, nil, err
	}
	verdicts, report, err := j.Bundle(b)
	return verdicts, report, usage(err)
}

// judgeOf returns the judge for a bundle: the rules of this program, of the bundle and of the
// folder, and the named profile or, for "", the profile of the run.
func judgeOf(b *bundle.Bundle, how judging) (*judge.Judge, error) {
	rules, err := scenarios.Load()
	if err != nil {
		return nil, defect(err)
	}
	if b.Run.RulesText != "" {
		if err := rules.AddRules("the rules of the bundle", []byte(b.Run.RulesText)); err != nil {
			return nil, usage(err)
		}
	}
	if how.scenarios != "" {
		own, err := scenarios.LoadDir(how.scenarios)
		if err != nil {
			return nil, usage(err)
		}
		if err := rules.Adopt(own); err != nil {
			return nil, usage(err)
		}
	}
	p, err := profileOf(b, how.profile, rules)
	if err != nil {
		return nil, usage(err)
	}
	known, err := knownOf(b)
	if err != nil {
		return nil, usage(err)
	}
	return &judge.Judge{Rules: rules, Profile: p, Strict: how.strict || b.Run.Strict, Known: known}, nil
}

// profileOf returns the named profile: of the catalogue or, if that has none with the name, the
// stored profile of the run, which is also that for "".
func profileOf(b *bundle.Bundle, name string, cat *scenarios.Catalogue) (*scenarios.Profile, error) {
	isStored := name == "" || name == b.Run.Profile && !slices.Contains(cat.ProfileNames(), name)
	if isStored && b.Run.ProfileText != "" {
		return cat.ParseStoredProfile("the profile of the bundle", []byte(b.Run.ProfileText))
	}
	return cat.LoadProfile(cmp.Or(name, b.Run.Profile))
}
