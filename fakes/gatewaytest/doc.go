// Package gatewaytest provides the clients and the sandbox with which tests
// drive a gateway.
//
// It contains raw connections that send exactly the given bytes, clients of
// connect-go, and a sandbox whose processes do what a test tells them to. It
// knows a gateway only by its URL, and imports neither gateway nor zoo. Only
// tests import it.
package gatewaytest
