// Package doctor checks before a run whether this machine can test and the target can be
// tested: descriptors, ports, clock and CPUs of the machine, and reachability, credentials,
// round trip, spawn latency, shell and features of the target.
//
// It runs only the short commands of calibration and probing, and judges no rules; see
// internal/judge.
package doctor
