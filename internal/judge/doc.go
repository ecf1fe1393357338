// Package judge turns what was seen into verdicts: (scenario, rules, profile,
// observation) → a verdict per rule, and (run, observations) → verdicts for what
// spans scenarios, and all verdicts → the report of the run.
//
// Every function is pure: no network, no process, no clock, no goroutine, and the
// input is never changed. The same observation, live or read back from a
// bundle, has the same verdicts. Nothing is rendered here.
package judge
