package main

import (
	"fmt"

	"assay/internal/bundle"
	"assay/reports"
	"assay/scenarios"
	"assay/suites"
)

// failedIn accepts the instances that failed, or stayed open, in a bundle; nil
// for no bundle.
func failedIn(dir string) (func(scenarios.Instance) bool, error) {
	if dir == "" {
		return nil, nil
	}
	b, err := bundle.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("--rerun: %w", err)
	}
	r := b.Report
	if r == nil {
		if r, err = judged(b, "", false); err != nil {
			return nil, fmt.Errorf("--rerun: %w", err)
		}
	}
	type key struct {
		id   string
		axes bundle.Axes
	}
	again := map[key]bool{}
	for _, s := range r.Scenarios {
		switch s.Verdict {
		case bundle.Fail, bundle.UnexpectedPass, bundle.Error, bundle.Inconclusive:
			again[key{s.ID, s.Axes}] = true
		default:
		}
	}
	return func(i scenarios.Instance) bool { return again[key{i.Scenario.ID, i.Axes}] }, nil
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
