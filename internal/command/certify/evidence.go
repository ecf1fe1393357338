package certify

import (
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// Repeats is how often a certificate wants every scenario to have run.
const Repeats = 3

// Evidence is everything that a certificate rests on.
type Evidence struct {
	// Level is the level that was asked for, and Profile the profile.
	Level   string
	Profile *scenarios.Profile
	// Build is the program that judges, with its catalogue.
	Build     bundle.Build
	Catalogue *scenarios.Catalogue
	// Conform is the bundle of the scenarios, with the verdicts and the report that its evidence yields.
	Conform  *bundle.Bundle
	Verdicts []bundle.Verdict
	Report   *bundle.Report
	// Load and Soak are nil below the level with-load.
	Load *bundle.LoadReport
	Soak *bundle.SoakReport
	// Selftest is the self-test of the program. Faults and Variants are what it must have tried.
	Selftest         *bundle.SelftestReport
	Faults, Variants []string
	// Partial is set while evidence is gathered: requirements whose evidence is not there yet are left out.
	Partial bool
}

// withLoad reports whether the level includes load and soak.
func (e *Evidence) withLoad() bool { return e.Level == bundle.LevelWithLoad }
