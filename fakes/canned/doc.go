// Package canned is a gateway that answers every Start with the same bytes,
// encoded once per protocol, at little more than the cost of the kernel: what is
// measured against it is the driver and not the gateway.
//
// What lives here: the file that says what a stream holds, its encodings, the
// HTTP/1.1 and HTTP/2 (prior knowledge) server sides that answer with them, and
// the loop that drives sockets and timers. What may not: commands and processes.
// The script of a request is not looked at; a pid names a stream, and a signal ends it.
//
// Everything but the loop is free of system calls and runs in one goroutine, so
// the counters of /metrics are exact at every scrape. One loop is one core: the
// other ones are for the driver.
package canned
