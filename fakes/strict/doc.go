// Package strict is the layer in front of connect-go that refuses requests which
// the protocols forbid but connect-go accepts.
//
// It contains the reading of Connect, gRPC and gRPC-Web requests down to their
// envelopes, the refusal of malformed ones in the form of the call, the
// negotiation of encodings, and the writer of enveloped responses. Policy holds
// the decisions as functions. It contains no processes, no particular service
// and no faults, and imports neither gateway nor zoo.
package strict
