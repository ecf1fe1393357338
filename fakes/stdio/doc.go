// Package stdio is the stdio-over-WebSocket surface of the reference gateway:
// GET /attach runs a command and connects its stdin, stdout and stderr to a
// WebSocket. docs/stdio.md describes the protocol and every decision in it.
//
// It contains requests, messages, clients, sessions and panes. It knows
// processes only by the interface Process: it contains no process table, no
// counters and no authorization, and no fault. The frames of RFC 6455 are those
// of github.com/coder/websocket.
//
// The output of a session goes from its processes into a feed, and from there
// to each client at the client's own pace.
package stdio
