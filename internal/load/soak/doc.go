// Package soak runs hours of mixed work against a gateway and says whether it leaks, drifts or loses.
//
// What belongs here: the plan of a soak, its windows, the work beside the streams, the sampling of the target's
// resources, the folder of a soak and how it is resumed, and the conclusion. What does not: streams, histograms
// and counters (package load, of which every window is one run), the statistics (package trend), faults that are
// injected (package inject), flags and terminals (cmd/assay), and rendering (reports).
//
// A window is a load run with a ledger of its own. At its end every process is killed, the counters are held
// against the ledger, and the target is sampled at rest: what stays then, and rises from window to window, leaks.
// Everything is judged from the recorded windows ([Conclude]), so that a soak that was killed has a report, and
// can be resumed.
package soak
