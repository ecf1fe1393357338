// Package wire decodes and encodes the frames of the wire protocols: HTTP/1.1
// responses, the envelopes of Connect, gRPC and gRPC-Web, the end-of-stream
// message, RPC errors, gRPC statuses and trailers, NDJSON lines, WebSocket frames and
// messages and those of stdio over them, and the table of the 16 error codes.
//
// It is pure: no network, no clock, no goroutine. Decoders are incremental (any
// split of the input gives the same result), strict (they report everything that the
// specification forbids as a Violation with its byte offset, and never silently correct
// it) and allocate nothing per frame in the hot path. HTTP/2 frames are in
// internal/wire/h2, the meaning of payloads in internal/envd.
package wire
