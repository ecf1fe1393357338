// Package account follows the streams of a run. From the reports of a driver about a
// stream (sent, head, body, end, failure) it decides the outcome of the stream and the fate
// of its process, and measures latencies. It also keeps the schedule: when streams begin,
// and which processes are killed, get input or are swept.
//
// What belongs here: the rules, once for all drivers, and the messages of failures. What
// does not: sockets, HTTP, threads, the wall clock. A driver serialises its calls and
// passes the time.
//
// The usual form of every message is recognised in place, without allocations; any other
// form goes to the strict decoders of internal/wire and internal/envd.
package account
