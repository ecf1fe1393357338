// Package loadtest has helpers for the tests of both drivers: a sink that counts, scripted
// gateways, and the bytes that they send. Only tests import it.
package loadtest
