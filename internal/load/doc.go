// Package load drives many concurrent streams of process.Process/Start against
// a gateway, checks every byte of each, measures latencies, and compares the
// gateway's counters with its own ledger.
//
// What belongs here: the plan of a run, the interfaces of engines and sinks,
// histograms, thresholds, the comparison with /metrics, the files of a run, and what
// a worker process does and a coordinator merges ([Job], [Segment], [Window]). What does not:
// how workers are found and talk (internal/load/fleet, behind [Fleet]), flags and terminals (cmd/assay),
// the report types and their rendering (internal/record/bundle, reports), the rules of the
// catalogue (a stream here is right or wrong as a whole), and the fakes.
//
// A run goes from [Options] to [Plan] to [Engine] to [Sink] to a bundle.LoadReport. The
// engines are the packages fast and portable; both use account, which decides the outcome
// of each stream. The class of a stream, and whether it is killed or hung up on, follow
// from its number and the seed ([Plan.Stream]), so that engines, and processes that share
// a plan, need not coordinate.
package load
