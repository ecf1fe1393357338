// Package outcome turns the verdicts of a run into its outcome: the causes behind the failures, the
// report with its exit code, and one report of several shards.
//
// It sees verdicts, and of observations only what ran and what was left out. It judges no evidence.
package outcome
