// Package strict is the layer in front of connect-go that refuses requests which
// the protocols forbid and connect-go accepts.
//
// What lives here: reading a request of Connect, gRPC or gRPC-Web down to its
// envelopes, the refusal of malformed ones in the form of the call, the
// negotiation of encodings, and the writer of enveloped responses. Policy holds
// the decisions as functions. What may not: processes, any particular service,
// and any fault; this package imports neither gateway nor zoo.
package strict
