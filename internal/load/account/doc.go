// Package account follows the streams of a run: what a driver reports of each of them
// (sent, head, body, end, failure) decides how the stream ended, what became of its
// process, and what is measured. It also keeps the schedule: which stream begins when,
// and which process is killed, fed or swept.
//
// What lives here: the rules, once for all drivers, and the words in which failures are
// reported. What may not: sockets, HTTP, threads, the wall clock. A driver serialises
// its calls and passes the time.
//
// The ordinary shape of every message is recognised in place, without allocations; any
// other shape goes to the strict decoders of internal/wire and internal/envd.
package account
