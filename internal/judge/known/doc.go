// Package known applies a list of known failures to the verdicts of a run, and judges the list itself.
//
// It sees verdicts and never evidence.
package known
