// Package load drives many concurrent streams of process.Process/Start against
// a gateway, checks every byte of each, measures latencies, and compares the
// gateway's own counters with what it did.
//
// What lives here: the plan of a run, the interfaces of engines and sinks,
// histograms, thresholds, the comparison with /metrics, the files of a run, and the
// worker processes that share a plan. What may not: flags and terminals (cmd/assay),
// the report and its drawing (internal/bundle, reports), the rules of the catalogue
// (a stream here is right or wrong as a whole), and the fakes.
//
// A run goes from [Options] to [Plan] to [Engine] to [Sink] to a bundle.LoadReport. The
// engines are the drivers fast and portable; account, under both, decides how each
// stream ends. The part of a stream in the plan follows from its number and the seed
// ([Plan.Stream]), so that engines, and processes that share a plan ([Work]), need not
// coordinate.
package load
