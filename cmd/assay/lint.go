package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"assay/internal/regular"
	"assay/scenarios"
)

func newLint(io stdio) *cobra.Command {
	var own string
	c := &cobra.Command{
		Use:   "lint [FILE…]",
		Short: "Check scripts, folders and lists of known failures, with file:line:column and a caret",
		Example: `  # one script
  assay lint my/scenario.yaml

  # a folder; the exit code is 2 when a script is invalid
  assay lint scenarios/*/*.yaml

  # a list of known failures (conform --known)
  assay lint known.yaml

  # scenarios of your own with their rules and profiles
  assay lint --scenarios my`,
		Args: between(0, -1, "want one or more files"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case own == "" && len(args) == 0:
				return usage(errors.New("nothing to check: give files, or --scenarios DIR"))
			case own != "" && len(args) > 0:
				return usage(errors.New("--scenarios checks a whole folder: give either files or a folder"))
			case own != "":
				return lintFolder(io, own)
			}
			return lint(io, args)
		},
	}
	registerScenarios(c, &own, "check a folder as a whole: scripts, rules.yaml and profiles, and how they refer to each other")
	return c
}

func lintFolder(io stdio, dir string) error {
	cat, err := scenarios.LintDir(dir)
	var mistakes *scenarios.ScriptError
	if errors.As(err, &mistakes) {
		if err := io.printf("%v\n", err); err != nil {
			return defect(err)
		}
		return usage(fmt.Errorf("%s is invalid", dir))
	}
	if err != nil {
		return usage(err)
	}
	own := cat.Own()
	io.errorf("%s is valid: %d scenarios, %d rules, %d profiles\n", dir, len(own.Scenarios), len(own.Rules), len(cat.Profiles))
	return nil
}

func lint(io stdio, files []string) error {
	broken := 0
	for _, file := range files {
		text, err := regular.Read(file, regular.Limit)
		if err != nil {
			return usage(err)
		}
		check := scenarios.Lint
		if scenarios.IsKnownList(text) {
			check = scenarios.LintKnown
		}
		errs := check(file, text)
		for _, err := range errs {
			if err := io.printf("%v\n", err); err != nil {
				return defect(err)
			}
		}
		if len(errs) > 0 {
			broken++
		}
	}
	if broken > 0 {
		return usage(fmt.Errorf("%d of %d files are invalid", broken, len(files)))
	}
	io.errorf("%d files are valid\n", len(files))
	return nil
}
