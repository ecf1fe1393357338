// Package hostile contains servers that misbehave: they say nothing, never end, lie about
// lengths, or send more than any client can hold. A client of such a server must end in time,
// in little memory, and with the right verdict.
//
// Each mode is one way to misbehave, in the file of its layer: tcp.go, tls.go, http1.go,
// http2.go, gzip.go, stream.go, process.go. late.go attacks HTTP/2 behind first contact, and
// legal.go has what only looks hostile.
// A mode either owns its connections, or replaces responses of the reference gateway.
//
// Only tests and bench/hostile import it. Faults, which a scenario must detect, belong in
// fakes/zoo.
package hostile
