// Package fast drives streams over HTTP without TLS on Linux at the cost of the kernel:
// one or two event loops, each a locked thread with its own epoll, no goroutine, no
// timer and no idle buffer per stream.
//
// What lives here: the loops, the HTTP/1.1 and HTTP/2 state machines, and the clock with
// the kernel's receive stamps. What may not: rules about streams, schedules and calls
// (internal/load/account), histograms, reports.
//
// The ordinary shape of every byte is recognised by hand, in place; any other shape goes
// to the strict decoders of internal/wire and golang.org/x/net/http2.
package fast
