// Package load drives many concurrent streams of process.Process/Start against
// a gateway, checks every byte of each, measures when things came, and holds the
// gateway's own counters against what it did.
//
// What lives here: the plan of a run, the narrow interface of an engine that
// opens streams, the portable engine (goroutines and sockets), the schedule,
// histograms, thresholds, the watch over /metrics, and the report. What may not:
// flags and terminals (cmd/assay), the rules of the catalogue (a stream here is
// right or wrong as a whole), and the fakes.
//
// The way of a run: [Options] → [Plan] → [Engine] → [Sink] (histograms and
// results, merged every second) → [Report]. What a stream of a plan does follows
// from its number and the seed ([Plan.Stream]), so that engines, and processes that
// share a plan ([Work]), need not agree on anything.
package load
