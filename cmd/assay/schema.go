package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay/fakes/canned"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// cannedSchema is the name of the schema of canned responses.
const cannedSchema = "canned"

func newSchema(io stdio) *cobra.Command {
	all := slices.Concat(scenarios.SchemaNames(), bundle.SchemaNames(), []string{cannedSchema})
	slices.Sort(all)
	names := strings.Join(all, ", ")
	return &cobra.Command{
		Use:   "schema NAME",
		Short: "Print a published JSON Schema",
		Long:  "Prints the JSON Schema of a file format: " + names + ".",
		Example: `  # the script language, for an editor
  assay schema scenario > scenario.schema.json

  # the profile format
  assay schema profile

  # the observations of a stored run
  assay schema bundle.observation`,
		Args:      exactly(1, "want one of "+names),
		ValidArgs: all,
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(all, args[0]) {
				return usage(fmt.Errorf("no schema %q; the schemas are %s", args[0], names))
			}
			read := scenarios.Schema
			switch {
			case args[0] == cannedSchema:
				read = func(string) ([]byte, error) { return canned.Schema(), nil }
			case slices.Contains(bundle.SchemaNames(), args[0]):
				read = bundle.Schema
			}
			text, err := read(args[0])
			if err != nil {
				return usage(err)
			}
			_, err = io.out.To.Write(text)
			return defect(err)
		},
	}
}
