// Package strictjson reads JSON as a conformance tool must: it reports every breach of RFC
// 8259 and of the I-JSON rules that protobuf's JSON mapping relies on (RFC 7493: unique
// member names, valid UTF-8, no lone surrogates) with its byte offset, and still returns the
// readable values.
//
// Messages and protocols are in internal/wire and internal/envd. A reused Scanner does not
// allocate for valid input.
package strictjson
