package main

import (
	"strings"

	"github.com/spf13/cobra"

	"assay/scenarios"
)

func newSchema(io stdio) *cobra.Command {
	names := strings.Join(scenarios.SchemaNames(), ", ")
	return &cobra.Command{
		Use:   "schema NAME",
		Short: "Print a published JSON Schema",
		Long:  "Prints the JSON Schema of a file format: " + names + ".",
		Example: `  # the script language, for an editor
  assay schema scenario > scenario.schema.json

  # the profile format
  assay schema profile`,
		Args:      exactly(1, "want one of "+names),
		ValidArgs: scenarios.SchemaNames(),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := scenarios.Schema(args[0])
			if err != nil {
				return usage(err)
			}
			_, err = io.out.Write(text)
			return defect(err)
		},
	}
}
