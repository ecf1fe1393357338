package transport

import "assay/internal/bundle"

// Call describes an exchange that is about to begin on a connection: how it is
// recorded, and how its answer is decoded. None of it is sent.
type Call struct {
	// Name, Step and Op say what it is in the script; see bundle.Exchange.
	Name, Step, Op string
	// RPC is "process.Process/Start", Surface process, commands, metrics or health.
	RPC, Surface string
	// Protocol says how the answer of an RPC is decoded: connect ("" too), grpc or grpc-web.
	Protocol string
	// Shape is how the answer is to be decoded; "" is plain.
	Shape bundle.Shape
	// Codec is json or proto.
	Codec string
	// Method, Path and Headers are those of the request. HEAD has an answer without body.
	Method, Path string
	Headers      []bundle.Header
	// Body is what is sent as entity.
	Body []byte
}
