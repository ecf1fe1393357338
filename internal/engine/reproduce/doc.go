// Package reproduce writes and tries reproducers of failures: the replay command, a curl
// line for a unary call, and a shell script that writes the exact bytes of a stream or
// of raw bytes.
//
// It decides which of the three a failure can have, writes and runs them, decodes the
// response with our own decoder so that the judge can say whether it shows the failure,
// compares with a correct gateway, and searches for a smaller input that still fails.
// Rules and matching belong to the judge, rendering to reports; the caller runs
// scenarios and starts gateways.
//
// A text is derived only from the observation. A failure that one byte stream cannot
// show, because it takes a second connection, the pid of an earlier start or processes
// that other calls started, has only its replay command, with the reason.
package reproduce
