package fakes

import (
	"mime"
	"strings"

	"connectrpc.com/connect"
)

// protocol is one of the three RPC protocols that the gateway speaks.
type protocol int

const (
	connectRPC protocol = iota
	grpcRPC
	grpcWeb
)

// Base content types of gRPC and gRPC-Web; alone they mean protobuf messages.
const (
	grpcType    = "application/grpc"
	grpcWebType = "application/grpc-web"
)

// String is the protocol's name.
func (p protocol) String() string {
	switch p {
	case grpcRPC:
		return "grpc"
	case grpcWeb:
		return "grpc-web"
	default:
		return "connect"
	}
}

// isGRPC is for what gRPC and gRPC-Web have in common.
func (p protocol) isGRPC() bool { return p != connectRPC }

// malformed is the code for a request that does not keep to the framing, or
// whose message cannot be read: the Connect protocol has such errors under
// invalid_argument, gRPC under INTERNAL.
func (p protocol) malformed() connect.Code {
	if p.isGRPC() {
		return connect.CodeInternal
	}
	return connect.CodeInvalidArgument
}

// encodingNames are the headers of the request's and of the accepted encodings.
func (p protocol) encodingNames(form shape) (sent, accept string) {
	switch {
	case p.isGRPC():
		return "Grpc-Encoding", "Grpc-Accept-Encoding"
	case form == unary:
		return "Content-Encoding", "Accept-Encoding"
	default:
		return "Connect-Content-Encoding", "Connect-Accept-Encoding"
	}
}

// mediaType is a content type that the gateway serves.
type mediaType struct {
	protocol  protocol
	codec     string // json, proto
	canonical string // as the answer has it
}

// parseMediaType reads a content type for a method of a shape. The media type
// is compared without case and its parameters are ignored, save that a charset
// other than UTF-8 is not supported. plainOnly refuses all other parameters.
func parseMediaType(value string, form shape, plainOnly bool) (m mediaType, ok bool) {
	base, params, err := mime.ParseMediaType(value)
	if err != nil {
		return m, false
	}
	charset, hasCharset := params["charset"]
	if hasCharset && !strings.EqualFold(charset, "utf-8") {
		return m, false
	}
	if plainOnly && (len(params) > 1 || len(params) == 1 && !hasCharset) {
		return m, false
	}
	m.canonical = base
	switch base {
	case grpcType, grpcWebType:
		m.codec = "proto"
	default:
		_, m.codec, _ = strings.Cut(base, "+")
	}
	switch {
	case base == grpcWebType, strings.HasPrefix(base, grpcWebType+"+"):
		m.protocol = grpcWeb
	case base == grpcType, strings.HasPrefix(base, grpcType+"+"):
		m.protocol = grpcRPC
	case form == unary:
		m.codec, ok = strings.CutPrefix(base, "application/")
	default:
		ok = strings.HasPrefix(base, "application/connect+")
	}
	if !ok && m.protocol == connectRPC || m.codec != "json" && m.codec != "proto" {
		return m, false
	}
	if hasCharset && m.codec == "json" && m.protocol == connectRPC {
		m.canonical = base + "; charset=utf-8"
	}
	return m, true
}

// acceptPost lists the content types that a shape takes over a version of HTTP.
func acceptPost(form shape, http2 bool) string {
	list := "application/json, application/proto"
	if form != unary {
		list = "application/connect+json, application/connect+proto"
	}
	if http2 {
		list += ", application/grpc, application/grpc+json, application/grpc+proto"
	}
	return list + ", application/grpc-web, application/grpc-web+json, application/grpc-web+proto"
}

// malformed is the protocol's code, unless the gateway has one for all.
func (c *call) malformed() connect.Code {
	if c.lax.connectCodes {
		return connectRPC.malformed()
	}
	return c.protocol.malformed()
}
