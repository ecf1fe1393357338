// Package outcome turns the verdicts of a run into its outcome: the causes of the failures, the
// report with its exit code, and the merged report of several shards.
//
// It uses verdicts and, of observations, only which scenarios ran and which were skipped. It
// judges no evidence.
package outcome
