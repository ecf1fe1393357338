// Package tlsloop is the TLS of connections that an event loop serves: a tls.Conn that never
// waits for its socket.
//
// What belongs here: the memory between sockets and crypto/tls, for clients and servers. The
// handshake runs in a goroutine of its own, and the loop takes its result; after it, the loop passes
// received bytes, and the tls.Conn gets one whole record at a time. What does not: system calls, deadlines,
// certificates, and what the contents mean.
package tlsloop
