// Package doctor answers one question before a run: can this machine and this
// target be tested? It looks at descriptors, ports, clock and processors here,
// and at reachability, credentials, round trip, spawn latency, shell and features
// there.
//
// It starts nothing but the short commands of calibration and probing, and it
// judges nothing by rules; see internal/judge.
package doctor
