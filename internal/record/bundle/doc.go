// Package bundle holds the record of a run: the types of observations, verdicts and
// results, and their file format on disk.
//
// It does not judge, use a network or render. Times are nanoseconds since the start of
// the run on one monotonic clock; every recorded step also has a number from one sequence
// over all connections.
package bundle
