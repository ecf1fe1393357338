// Package selftest proves that the suites notice: it runs the catalogue
// against the reference gateway with every fault and every variant in turn.
// A fault must turn a rule that it names from pass to fail or advisory, and what else fails on it must follow
// from such a rule; a variant, being legal, must be blamed for nothing. What blames either beside other
// gateways is tried once more by itself, and counts when it blames again.
//
// It has no rules and no matching of its own, and it does not render.
package selftest
