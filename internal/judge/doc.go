// Package judge derives verdicts from what was observed: (scenario, rules, profile, observation) →
// a verdict per rule, and (run, observations) → verdicts for what spans scenarios. Package outcome,
// below it, derives the report of the run from the verdicts.
//
// Every function is pure: no network, no process, no clock, no goroutine, and no input is
// changed. The same observation, live or read back from a bundle, has the same verdicts.
//
// The judgement of one exchange by a match (match_*.go, output.go) and by the standing rules
// (checks_*.go) share a scene, findings and some fifty readings of an exchange (protocol.go,
// message.go, symptom.go). They are one package, because a split would export all of these.
package judge
