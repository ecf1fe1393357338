// Package wire turns bytes into frames and frames into bytes: HTTP/1.1
// responses, the envelopes of Connect, gRPC and gRPC-Web, the end-of-stream
// message, RPC errors, gRPC statuses and trailers, NDJSON lines, and the table of
// the 16 error codes.
//
// It is pure: no network, no clock, no goroutine. Decoders are incremental (any
// split of the input gives the same result), strict (what the specification
// forbids is reported as a Violation with its byte offset, never corrected in
// silence) and allocate nothing per frame in the hot path. What a payload
// means in the envd protocol is not known here; see internal/envd.
package wire
