// Package diff compares two runs: verdicts that got worse or better, new and gone
// scenarios and rules, and changed legal responses, features and latencies.
//
// It has pure functions from two values of package bundle to a bundle.Diff. Reading files
// belongs to cmd/assay, drawing to reports, judging to internal/judge.
package diff
