package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"assay/scenarios"
)

func newLint(io stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "lint FILE…",
		Short: "Check scenario scripts, with file:line:column and a caret",
		Example: `  # one script
  assay lint my/scenario.yaml

  # a whole folder; the exit code is 2 when one is broken
  assay lint scenarios/*/*.yaml`,
		Args: between(1, -1, "want one or more scripts"),
		RunE: func(_ *cobra.Command, args []string) error {
			return lint(io, args)
		},
	}
}

func lint(io stdio, files []string) error {
	broken := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return usage(err)
		}
		errs := scenarios.Lint(file, text)
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
		return usage(fmt.Errorf("%d of %d scripts are broken", broken, len(files)))
	}
	io.errorf("%d scripts are good\n", len(files))
	return nil
}
