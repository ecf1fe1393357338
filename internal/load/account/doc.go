// Package account follows the streams of a run. From the reports of a driver about a
// stream (sent, head, body, end, failure) it decides the outcome of the stream and the fate
// of its process, and measures latencies. It also keeps the schedule: when streams begin,
// and which processes are killed, get input or are swept.
//
// What belongs here: the rules, once for all drivers, and the messages of failures. What
// does not: sockets, HTTP, threads, the wall clock. A driver serialises its calls and
// passes the time.
//
// A WebSocket is the body of a 101 response here: account reads its frames and writes those
// of the client, and a driver moves the bytes.
//
// The usual form of every message is recognised in place, without allocations; any other
// form goes to the strict decoders of internal/wire and internal/envd.
package account
