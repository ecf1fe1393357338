// Package reproduce makes and tries the texts by which anyone can show a failure
// again: the replay command, a curl line for a unary call, and a shell script
// that writes the exact bytes of a stream or of raw bytes.
//
// What lives here: which of the three a failure can have, their text, running them,
// reading what came back by our own decoder so that the judge can say whether it
// shows the failure, and the search for a smaller input that still fails. What may
// not: rules and matching (the judge's), running scenarios (the engine's; who calls
// hands it in), rendering.
//
// A text is made of nothing but the observation. What cannot be one byte stream,
// because it needs a second connection or the pid of an earlier start, has its
// replay command alone, and the reason is said.
package reproduce
