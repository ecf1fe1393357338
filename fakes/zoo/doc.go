// Package zoo is the gateways that Assay itself is tested against: the reference
// gateway broken in one named way (faults), different in one legal way (variants),
// or together like a gateway that exists (likes).
//
// What lives here: decorators for the seams of package gateway and policies for
// package strict, in a file for each seam, faults beside variants; their list; and
// Start, which puts them together. What may not: anything about scenarios,
// observations or verdicts. The zoo knows rules only as strings, and a decorator
// changes every request at its seam, whoever is asking.
package zoo
