// Package matrix compares the runs of several gateways: rule by rule, the verdict of each
// and how its responses ended.
//
// It has pure functions from values of package bundle to a bundle.Matrix. Reading files
// belongs to cmd/assay, drawing to reports, judging to internal/judge.
package matrix
