// Package runpage shows a run in a browser while it goes on: one page, and the events that change it.
//
// What lives here: an HTTP server on a loopback address, the state of the page, and the readers of its events. Memory is
// bounded: curves are reduced to 600 moments, the list to its newest entries, and a reader that does not keep up is
// dropped. Nothing waits for a reader, not even the end of the run. What may not: anything that knows what a run is; whoever
// runs tells the server what to show. A nil *Server shows nothing.
package runpage
