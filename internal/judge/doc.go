// Package judge derives verdicts from observations: (scenario, rules, profile, observation) →
// one verdict per rule, and (run, observations) → verdicts about the whole run. Package outcome,
// below it, derives the report of the run from the verdicts.
//
// Every function is pure: it uses no network, process, clock or goroutine, and changes no input.
// An observation has the same verdicts live and read back from a bundle.
//
// Matches (match_*.go, output.go) and standing rules (checks_*.go) both judge single exchanges.
// They share scenes, findings and some fifty helpers (protocol.go, message.go, symptom.go), and
// are one package because a split would export all of these.
package judge
