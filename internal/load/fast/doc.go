// Package fast drives streams over HTTP and HTTPS on Linux, with little more cost than
// the system calls: one or two event loops, each a locked thread with its own epoll, and no
// goroutine, timer or idle buffer per stream.
//
// What belongs here: the loops, the state machines of HTTP/1.1, of the upgrade to WebSocket
// and of HTTP/2, the memory between sockets and TLS, and the clock with the kernel's receive stamps. What does not: rules about
// streams, schedules and calls (internal/load/account), histograms, reports.
//
// TLS is that of crypto/tls. A handshake runs in a goroutine of its own; after it, the loop
// gives the tls.Conn one whole record at a time, so that it never waits.
//
// The usual form of a response is parsed by hand, in place; any other form goes to the
// strict decoders of internal/wire and golang.org/x/net/http2.
package fast
