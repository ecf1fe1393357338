// Package portable opens the streams of a run with the client connections of net/http: on
// every system, with TLS and without.
//
// What lives here: connections, the goroutine of each exchange, and the translation of
// what the clients return into facts for internal/load/account, which judges them. What
// may not: rules about streams, schedules, histograms.
//
// net/http accepts some breaches of HTTP/1.1 that the fast driver reports: a bare newline
// as a line end, a length beside chunks, bytes behind a response. No verdict rests on them.
package portable
