package strict

import (
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
)

// Policy holds the decisions of a Layer. A decorator replaces a function by its
// own, which calls the previous one. Start from DefaultPolicy: no function may be
// nil, except where the field says so.
type Policy struct {
	// Serves reports whether a protocol is served over the version of HTTP of a
	// request. Default: gRPC needs the trailers of HTTP/2.
	Serves func(r *http.Request, p Protocol) bool
	// Timeout reads the timeout of a call, which limits the wait for its request; 0
	// means none. connect-go reads the header again for the deadline of the
	// handler.
	Timeout func(c *Call) (time.Duration, error)
	// EncodingName returns the canonical form of an encoding's name in a request.
	// Default: lower case.
	EncodingName func(name string) string
	// ChooseEncoding picks the encoding of a response: "gzip", "identity" or "".
	// accept holds the values of the header that lists the accepted encodings, nil
	// if it is absent; sent is the encoding of the request, "" for identity.
	ChooseEncoding func(accept []string, sent string) string
	// Flags checks the flags of a request envelope. An end-of-stream envelope that
	// it accepts ends the request.
	Flags func(c *Call, flags byte) error
	// Message checks a decompressed request message of a stream, and returns the
	// bytes that connect-go decodes.
	Message func(c *Call, payload []byte) ([]byte, error)
	// Malformed returns the code of a request that breaks the framing or cannot be
	// decoded. Default: internal for gRPC and gRPC-Web, else invalid_argument.
	Malformed func(p Protocol) connect.Code
	// MaxLength is the largest length that a request envelope may declare.
	// Default: MaxMessage.
	MaxLength uint32
	// Refusal sees the error of every request that does not reach connect-go, and
	// returns the error to send. It may set header fields of the response.
	Refusal func(c *Call, err error) error
	// NotFound decorates the handler of requests without a route. nil: none.
	NotFound func(next http.Handler) http.Handler
	// WrongVerb decorates the handler of requests with an HTTP method that the
	// procedure does not accept. nil: none.
	WrongVerb func(next http.Handler) http.Handler
	// ServeHead serves HEAD where GET is served.
	ServeHead bool
	// StatusInTrailers refuses gRPC calls with a response head and the status in
	// trailers. Default: a trailers-only response.
	StatusInTrailers bool
	// Frames decorates the envelopes of every enveloped response. nil: none.
	Frames func(next FrameSink) FrameSink
	// Opening changes the beginning of a Connect stream, before any of it is sent.
	// nil: nothing.
	Opening func(o *Opening)
}

// DefaultPolicy returns the policy that follows the protocols.
func DefaultPolicy() Policy {
	return Policy{
		Serves:         func(r *http.Request, p Protocol) bool { return p != GRPC || r.ProtoMajor >= 2 },
		Timeout:        (*Call).readTimeout,
		EncodingName:   strings.ToLower,
		ChooseEncoding: chooseEncoding,
		Flags:          checkFlags,
		Message:        checkMessage,
		Malformed:      Protocol.malformed,
		MaxLength:      MaxMessage,
		Refusal:        func(_ *Call, err error) error { return err },
	}
}

// Decorated applies a decorator that may be nil.
func Decorated[T any](decorate func(T) T, t T) T {
	if decorate == nil {
		return t
	}
	return decorate(t)
}
