package main

import (
	"runtime"

	"github.com/spf13/cobra"
)

func newVersion(io stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  # the version
  assay version

  # in a bug report
  assay version && uname -sr`,
		Args:              exactly(0, "version takes none"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			return defect(io.printf("assay %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH))
		},
	}
}
