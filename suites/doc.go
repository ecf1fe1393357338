// Package suites runs the catalogue against a target and presents every
// scenario as a Ginkgo spec. `assay conform` and
// `go test ./suites -args -url=…` are the same tree.
//
// What lives here: the order of a run (profile, target, calibration, probing,
// selection, engine, judge, bundle) and the tree of specs. Ginkgo presents and
// never decides: verdicts come from the judge, the exit code from the report.
// What may not: rules, matching, rendering, flags.
package suites
