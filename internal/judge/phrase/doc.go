// Package phrase words the messages of verdicts: quotations, legal sets, numbers and times.
//
// It knows strings and numbers only, and nothing of exchanges, rules or verdicts.
package phrase
