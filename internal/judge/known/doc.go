// Package known applies a list of known failures to the verdicts of a run, and judges the list itself.
//
// It uses verdicts, never evidence.
package known
