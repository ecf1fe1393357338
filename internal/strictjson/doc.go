// Package strictjson reads JSON the way a conformance tool must: every breach
// of RFC 8259 and of the I-JSON rules that protobuf's JSON mapping relies on
// (RFC 7493: unique member names, valid UTF-8, no lone surrogates) is reported
// with its byte offset, and what can be understood is still handed out.
//
// It knows no message and no protocol; internal/wire and internal/envd do. It
// allocates nothing for valid input when a Scanner is used again.
package strictjson
