// Package fast drives streams over HTTP without TLS on Linux at the cost of the kernel:
// one or two event loops, each a locked thread with its own epoll, no goroutine, no
// timer and no idle buffer per stream.
//
// What lives here: the loops, the HTTP/1.1 and HTTP/2 state machines that feed the
// streams, the streams' slab, the clock with the kernel's receive stamps, and the
// calls that kill. What may not: what a stream must look like (internal/load and
// internal/envd say that; a stream here is judged as the portable engine judges it),
// histograms, reports.
//
// The rule for speed: the ordinary shape of every byte is recognised by hand, in
// place, and anything else is handed to the strict decoders of internal/wire,
// internal/envd and golang.org/x/net/http2, so that both engines come to the same
// verdicts.
package fast
