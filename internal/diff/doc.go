// Package diff compares two runs: which verdicts got worse or better, what is new
// or gone, which legal answers and features changed, and whether latencies did.
//
// What lives here: pure functions from two values of package bundle (or two load
// runs, in the plain form of [Load]) to a bundle.Diff. What may not: reading files
// (cmd/assay), drawing (reports), judging (internal/judge), the wall clock.
package diff
