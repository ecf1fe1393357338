// Package loadtest is what the tests of several drivers need: a sink that counts, gateways
// that are written by hand, and the bytes that they send. Only tests import it.
package loadtest
