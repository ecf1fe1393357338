// Package attach connects a local terminal, or pipes, to a command in a sandbox: over the
// WebSocket of the stdio surface, or over process.Process.
//
// What lives here: the session (input, output, resize, signals, leaving, reconnecting), its two
// links to a gateway, the tracking of the modes that a command leaves on the screen, and the
// recording in asciicast. What may not: the local terminal itself, signals of the operating
// system and flags, which package main hands in; anything that judges the gateway.
package attach
