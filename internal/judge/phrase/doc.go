// Package phrase formats parts of verdict messages: quotations, legal sets, numbers and times.
//
// It knows only strings and numbers, not exchanges, rules or verdicts.
package phrase
