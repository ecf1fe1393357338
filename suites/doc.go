// Package suites runs the catalogue against a target and presents every scenario as a Ginkgo
// spec. `assay conform -v` and `go test ./suites -args -url=…` run the same tree; without -v
// nobody reads it, and Ginkgo does not run.
//
// It has the order of a run (profile, target, calibration, probing, selection, engine, judge,
// bundle) and the tree of specs. Ginkgo only presents: verdicts come from the judge, the exit
// code from the report. Rules, matching, rendering and flags are elsewhere.
package suites
