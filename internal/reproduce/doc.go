// Package reproduce makes and tries the texts by which anyone can show a failure
// again: the replay command, a curl line for a unary call, and a shell script
// that writes the exact bytes of a stream or of raw bytes.
//
// What lives here: which of the three a failure can have, their text, running them,
// reading what came back by our own decoder so that the judge can say whether it
// shows the failure, holding that against a correct gateway, and the search for a
// smaller input that still fails. What may not: rules and matching (the judge's),
// running scenarios and starting gateways (who calls hands them in), rendering.
//
// A text is made of nothing but the observation. What one byte stream cannot show,
// because it takes a second connection, the pid of an earlier start or the processes
// that other calls had started, has its replay command alone, and the reason is said.
package reproduce
