// Package canned is a gateway that responds to every Start with the same bytes, encoded
// once per protocol, at little more than the cost of the kernel: measurements against
// it show the driver, not the gateway.
//
// It contains the file format for the content of streams, their encodings, the
// HTTP/1.1, WebSocket and HTTP/2 servers that send them, in clear or over TLS, and
// the loop of sockets and timers. It contains no commands and no processes.
// The script of a request is ignored; a pid names a stream, and a signal ends it.
//
// Everything but the loop is free of system calls and runs in one goroutine, so
// the counters of /metrics are exact at every scrape. One loop uses one core and leaves
// the others to the driver.
package canned
