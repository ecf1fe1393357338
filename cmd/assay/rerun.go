package main

import (
	"errors"
	"fmt"

	"assay/internal/bundle"
	"assay/reports"
	"assay/scenarios"
	"assay/suites"
)

// failedIn accepts the instances that failed, or stayed open, in a bundle, also
// because the run was interrupted or killed before them; nil for no bundle.
func failedIn(dir string) (func(scenarios.Instance) bool, error) {
	if dir == "" {
		return nil, nil
	}
	b, err := bundle.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("--rerun: %w", err)
	}
	r := b.Report
	if b.Unfinished || r == nil {
		if _, r, err = judged(b, "", false); err != nil {
			return nil, fmt.Errorf("--rerun: %w", err)
		}
	}
	again := map[bundle.Planned]bool{}
	for _, p := range b.Run.Planned {
		again[p] = !b.Run.Complete() || b.Unfinished
	}
	for _, o := range b.Observations {
		// What was seen to its end is decided by its verdict, below.
		again[instanceOf(o.Scenario, o.Axes)] = o.Interrupted || o.Skip != nil && o.Skip.Reason == bundle.SkipInterrupted
	}
	for _, s := range r.Scenarios {
		switch s.Verdict {
		case bundle.Fail, bundle.UnexpectedPass, bundle.Error, bundle.Inconclusive:
			again[instanceOf(s.ID, s.Axes)] = true
		default:
		}
	}
	return func(i scenarios.Instance) bool { return again[instanceOf(i.Scenario.ID, i.Axes)] }, nil
}

// nothingAgain tells why nothing ran, when it is that --rerun names a bundle in
// which nothing failed; its exit code stays, and so do all other errors.
func (f *conformFlags) nothingAgain(err error) error {
	if !errors.Is(err, suites.ErrNothingAccepted) {
		return err
	}
	what := "nothing"
	if f.selection != "" {
		what = fmt.Sprintf("nothing of --select %q", f.selection)
	}
	return &exitError{exitInconclusive, fmt.Errorf("%s failed or stayed open in %s: nothing to run again", what, f.rerun)}
}

func instanceOf(id string, axes bundle.Axes) bundle.Planned {
	return bundle.Planned{Scenario: id, Axes: axes}
}

// dryRun lists what would run.
func dryRun(io stdio, format string, o suites.Options) error {
	cat, instances, err := suites.Plan(o)
	if err != nil {
		return nothingRun(err)
	}
	if format == "json" {
		return defect(reports.ListJSON(io.out, cat.Of(instances), faultsByRule()))
	}
	for _, i := range instances {
		note := ""
		switch {
		case i.Scenario.Destructive && !o.Destructive:
			note = "  (not run: destructive)"
		case !i.Scenario.Slow.IsZero() && !o.Slow:
			note = "  (not run: slow)"
		}
		if err := io.printf("%s [%s]%s\n", i.Scenario.ID, i.Axes, note); err != nil {
			return defect(err)
		}
	}
	io.errorf("%d would run\n", len(instances))
	return nil
}
