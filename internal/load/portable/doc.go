// Package portable opens the streams of a run with the client connections of net/http. It
// runs on every system, with TLS and without.
//
// What belongs here: connections, the goroutine of each exchange, and the translation of
// the clients' results into reports to internal/load/account, which judges them. What does
// not: rules about streams, schedules, histograms.
//
// net/http accepts some breaches of HTTP/1.1 that the fast driver reports: a bare newline
// as a line end, a length beside chunks, bytes after a response. No verdict depends on them.
package portable
