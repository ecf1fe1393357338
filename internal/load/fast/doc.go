// Package fast drives streams over HTTP and HTTPS on Linux, with little more cost than
// the system calls: event loops, each a locked thread with its own epoll, and no
// goroutine, timer or idle buffer per stream.
//
// What belongs here: the loops, the state machines of HTTP/1.1, of the upgrade to WebSocket
// and of HTTP/2, and the clock with the kernel's receive stamps. What does not: rules about
// streams, schedules and calls (internal/load/account), TLS (internal/base/tlsloop), histograms,
// reports.
//
// Loops share no connection and no stream: each has its own clock, its own part of the schedule
// and its own part of the sink. Of L loops, loop n has the streams whose numbers are n modulo L, so
// the streams of a plan are the same for any number of loops. What they share takes a lock or an
// atomic operation once for a connection or a stream, and none for an event: the cache of TLS
// sessions, the output with which those of a class are compared, the messages of failures, the
// count of open streams. More loops than the sink has parts share those.
//
// The usual form of a response is parsed by hand, in place; any other form goes to the
// strict decoders of internal/wire and golang.org/x/net/http2.
package fast
