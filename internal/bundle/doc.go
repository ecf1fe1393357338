// Package bundle holds the record of a run: the types of what was seen
// (observations), of what was concluded (verdicts, results), and their file
// format on disk.
//
// Nothing here decides anything, talks to a network or renders for people.
// Times are nanoseconds since the start of the run on one monotonic clock;
// every recorded step also has a number from one sequence over all connections.
package bundle
