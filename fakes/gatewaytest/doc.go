// Package gatewaytest holds the clients and the sandbox with which tests drive a
// gateway.
//
// What lives here: raw connections that send exactly what they are given,
// clients of connect-go, and a sandbox whose processes do what a test tells
// them to. What may not: knowledge of a gateway's inside; it knows a URL, and
// imports neither gateway nor zoo. Only tests import it.
package gatewaytest
