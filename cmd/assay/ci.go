package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"assay/reports"
)

// The values of --ci.
const (
	ciAuto = "auto"
	ciOff  = "off"
)

// registerCI adds the flag of the commands that report to GitHub Actions by themselves.
func (f *outputFlags) registerCI(c *cobra.Command) {
	f.hasCI = true
	flagsOf(c).word(&f.ci, "ci", ciAuto, "in GitHub Actions, also annotate the run and append to the summary of the step: auto or off", "auto or off", ciAuto, ciOff)
}

// reportToCI writes annotations to stderr in GitHub Actions, and appends the report to the summary of the
// step, if the runner has one.
func (f *outputFlags) reportToCI(s stdio, d draw) error {
	if !f.hasCI || f.ci == ciOff {
		return nil
	}
	var errs []error
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		if err := d(s.err.To, reports.FormatGitHub, reports.Style{}); err != nil {
			errs = append(errs, fmt.Errorf("writing annotations to stderr: %w", err))
		}
	}
	if path := os.Getenv("GITHUB_STEP_SUMMARY"); path != "" {
		if err := appendSummary(path, s.guard, d); err != nil {
			errs = append(errs, fmt.Errorf("appending to $GITHUB_STEP_SUMMARY (--ci off does not): %w", err))
		}
	}
	return errors.Join(errs...)
}

// appendSummary appends the report to the summary of a step, in the room that other commands of the
// step left.
func appendSummary(path string, g *guard, d draw) (err error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // reports are public
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	room := int64(reports.SummaryLimit)
	if info.Mode()&fs.ModeType == 0 {
		room -= info.Size()
	}
	if room <= 0 {
		return nil
	}
	return d(&output{file: f, guard: g}, reports.FormatSummary, reports.Style{Room: int(room)})
}
