package transport

import "assay/internal/record/bundle"

// Call describes an exchange that is about to begin on a connection: how it is
// recorded, and how its response is decoded. Nothing of it is sent, except by Request.
type Call struct {
	// Name, Step and Op identify it in the script; see bundle.Exchange.
	Name, Step, Op string
	// RPC is "process.Process/Start", Surface process, commands, metrics or health.
	RPC, Surface string
	// Sandbox names the sandbox that gets the request, "" for the target.
	Sandbox string
	// Protocol selects the decoder of an RPC's response: connect (also ""), grpc or grpc-web.
	Protocol string
	// Shape selects the decoder of the body; "" is plain.
	Shape bundle.Shape
	// Codec is json or proto.
	Codec string
	// Method, Path and Headers are those of the request. A response to HEAD has no body.
	Method, Path string
	Headers      []bundle.Header
	// Body is the request body.
	Body []byte
}
