// Package selftest checks that the scenarios detect faults: it runs the catalogue against the reference
// gateway with every fault and every variant in turn. A fault must turn a rule that it names from pass to fail
// or advisory, and its other failures must follow from such a rule. A variant is legal and must not fail. A
// failure that occurs while other gateways run is confirmed alone, and only that result counts.
//
// It has no rules and no matching, and it does not render.
package selftest
