//go:build linux

// Command peers runs Assay's load driver and other tools against one canned
// gateway, interleaved in one session, and prints the cost of each as a table of
// ratios, with Assay's own targets.
//
// Everything stays on 127.0.0.1 and ends by itself. It compares CPU time (user and
// system time of the driver from wait4, start-up included) and anonymous resident
// memory: both repeat on a busy machine, rates do not. A tool that cannot be
// installed is reported as missing.
package main
