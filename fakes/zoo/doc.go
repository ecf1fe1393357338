// Package zoo provides the gateways that Assay itself is tested against: the
// reference gateway with one named defect (faults), with one legal difference
// (variants), or imitating an existing gateway (likes).
//
// It contains decorators for the seams of package gateway and policies for package
// strict, in one file per seam with faults beside variants; their list; and Start,
// which combines them. It contains nothing about scenarios, observations or
// verdicts. The zoo knows rules only as strings, and a decorator changes every
// request at its seam, whoever sends it.
package zoo
