// Package sdk holds the one judge that this repository did not write: the
// official JavaScript SDK of E2B (npm package e2b, pinned exactly), which runs
// call by call against the reference gateway. What real programs would trip
// over, it trips over.
//
// What lives here: the calls with what each must observe (calls.mjs and calls/),
// and the test that installs the SDK, starts `assay serve` and reports every
// call as a subtest. What may not: anything that the program needs; no package
// imports this one, and node is needed only to test.
package sdk
