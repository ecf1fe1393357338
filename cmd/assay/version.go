package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"assay"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// versionLine names the version of the program and what it was built with.
func versionLine() string {
	return fmt.Sprintf("assay %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func newVersion(io stdio) *cobra.Command {
	var licenses bool
	var format string
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, or the licences of what is linked",
		Long: `Prints the version. With --format json also the commit of the source, whether it had
changes, and the SHA-256 digest of the catalogue: that of the output of
sha256sum over rules.yaml and every AREA/NAME.yaml of scenarios, sorted by name.`,
		Example: `  # the version
  assay version

  # in a bug report
  assay version --format json && uname -sr

  # the third-party software in the program, with its licences
  assay version --licenses`,
		Args:              exactly(0, "version takes none"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			switch {
			case licenses && format == "json":
				return usage(fmt.Errorf("--licenses is text: leave --format out"))
			case licenses:
				return defect(io.printf("%s", assay.Notice))
			case format == "json":
				return printBuild(io)
			}
			return defect(io.printf("%s", versionLine()))
		},
	}
	c.Flags().BoolVar(&licenses, "licenses", false, "print the licences of the software that is linked into the program")
	flagsOf(c).format(&format, "format on stdout: text or json", "text", "json")
	return c
}

func printBuild(io stdio) error {
	b, err := thisBuild()
	if err != nil {
		return defect(err)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return defect(err)
	}
	return defect(io.printf("%s\n", text))
}

// thisBuild identifies this program.
func thisBuild() (*bundle.Build, error) {
	b := &bundle.Build{
		Schema: bundle.BuildSchema, Name: "assay", Version: version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	c, err := scenarios.Load()
	if err != nil {
		return nil, err
	}
	b.Rules, b.Scenarios = len(c.Rules), len(c.Scenarios)
	b.Catalogue, err = scenarios.Digest()
	return b, err
}
