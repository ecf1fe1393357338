package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay/reports"
)

// outputFlags select the reports and their destinations.
type outputFlags struct {
	format  string
	reports []string
	verbose bool
	ci      string
	hasCI   bool // whether the command has --ci
}

func (f *outputFlags) register(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.format, "format", "text", "format on stdout: "+formatNames())
	fs.StringSliceVar(&f.reports, "report", nil, "also write reports to files, as `FORMAT=PATH,…`; formats: "+formatNames())
}

// registerVerbose adds the flag of the commands whose report lists rules.
func (f *outputFlags) registerVerbose(c *cobra.Command) {
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "also list passing rules")
}

// formatNames lists the formats of --format and --report.
func formatNames() string { return strings.Join(reports.Conform().Formats(), ", ") }

// validate rejects unknown formats before any work.
func (f *outputFlags) validate() error {
	if !slices.Contains(reports.Conform().Formats(), f.format) {
		return fmt.Errorf("--format %q: want one of %s", f.format, formatNames())
	}
	for _, r := range f.reports {
		format, path, ok := strings.Cut(r, "=")
		if format == "sarif" {
			return fmt.Errorf("--report %q: SARIF is a format of assay lint: a rule that a gateway breaks has no line in your files; the formats are %s", r, formatNames())
		}
		if !ok || path == "" || !slices.Contains(reports.Conform().Formats(), format) {
			return fmt.Errorf("--report %q: want FORMAT=PATH; the formats are %s", r, formatNames())
		}
		if err := writable(path); err != nil {
			return fmt.Errorf("--report %q: %w", r, err)
		}
	}
	return nil
}

// draw draws one report in a format of package reports.
type draw func(w io.Writer, format string, s reports.Style) error

// drawing draws a report with the function of package reports for its kind.
func drawing[R any](render func(io.Writer, string, R, reports.Style) error, r R) draw {
	return func(w io.Writer, format string, s reports.Style) error { return render(w, format, r, s) }
}

// only rejects formats that the report of a command does not have. what says in its error which report that is.
func (f *outputFlags) only(what string, formats []string) error {
	for _, format := range slices.Concat([]string{f.format}, f.reports) {
		format, _, _ = strings.Cut(format, "=")
		if !slices.Contains(formats, format) {
			return fmt.Errorf("%s %q: the formats are %s", what, format, strings.Join(formats, ", "))
		}
	}
	return nil
}

// write writes the report to stdout and to the files.
func (f *outputFlags) write(s stdio, d draw) error {
	var errs []error
	for _, spec := range f.reports {
		format, path, _ := strings.Cut(spec, "=")
		errs = append(errs, writeFile(path, format, s.guard, d))
	}
	if err := d(s.out.To, f.format, style(s.out.To, f.verbose)); err != nil {
		errs = append(errs, fmt.Errorf("writing the report to stdout: %w", err))
	}
	return errors.Join(append(errs, f.reportToCI(s, d))...)
}
