package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"assay"
)

// versionLine names the version of the program and what it was built with.
func versionLine() string {
	return fmt.Sprintf("assay %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func newVersion(io stdio) *cobra.Command {
	var licenses bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, or the licences of what is linked",
		Example: `  # the version
  assay version

  # in a bug report
  assay version && uname -sr

  # the third-party software in the program, with its licences
  assay version --licenses`,
		Args:              exactly(0, "version takes none"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if licenses {
				return defect(io.printf("%s", assay.Notice))
			}
			return defect(io.printf("%s", versionLine()))
		},
	}
	c.Flags().BoolVar(&licenses, "licenses", false, "print the licences of the software that is linked into the program")
	return c
}
