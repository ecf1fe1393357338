package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"assay/internal/regular"
	"assay/scenarios"
)

func newLint(io stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "lint FILE…",
		Short: "Check scripts and lists of known failures, with file:line:column and a caret",
		Example: `  # one script
  assay lint my/scenario.yaml

  # a folder; the exit code is 2 when a script is invalid
  assay lint scenarios/*/*.yaml

  # a list of known failures (conform --known)
  assay lint known.yaml`,
		Args: between(1, -1, "want one or more files"),
		RunE: func(_ *cobra.Command, args []string) error {
			return lint(io, args)
		},
	}
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
