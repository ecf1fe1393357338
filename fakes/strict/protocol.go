package strict

import (
	"mime"
	"strings"

	"connectrpc.com/connect"
)

// Protocol is one of the three RPC protocols.
type Protocol int

// The protocols.
const (
	Connect Protocol = iota
	GRPC
	GRPCWeb
)

// Base content types of gRPC and gRPC-Web; without a suffix they mean protobuf
// messages.
const (
	grpcType    = "application/grpc"
	grpcWebType = "application/grpc-web"
)

// String returns the name of the protocol.
func (p Protocol) String() string {
	switch p {
	case GRPC:
		return "grpc"
	case GRPCWeb:
		return "grpc-web"
	default:
		return "connect"
	}
}

// IsGRPC reports whether p is gRPC or gRPC-Web.
func (p Protocol) IsGRPC() bool { return p != Connect }

// malformed returns the code for a request that breaks the framing or whose
// message cannot be decoded.
func (p Protocol) malformed() connect.Code {
	if p.IsGRPC() {
		return connect.CodeInternal
	}
	return connect.CodeInvalidArgument
}

// encodingNames returns the headers for the encoding of the request and for the
// accepted encodings.
func (p Protocol) encodingNames(form shape) (sent, accept string) {
	switch {
	case p.IsGRPC():
		return "Grpc-Encoding", "Grpc-Accept-Encoding"
	case form == unary:
		return "Content-Encoding", "Accept-Encoding"
	default:
		return "Connect-Content-Encoding", "Connect-Accept-Encoding"
	}
}

// mediaType is a content type that the gateway serves.
type mediaType struct {
	protocol  Protocol
	codec     string // json, proto
	canonical string // as in the response
}

// parseMediaType reads a content type for a method of a shape. The media type is
// compared without case. Parameters are ignored, but a charset other than UTF-8
// is not supported.
func parseMediaType(value string, form shape) (m mediaType, ok bool) {
	base, params, err := mime.ParseMediaType(value)
	if err != nil {
		return m, false
	}
	charset, hasCharset := params["charset"]
	if hasCharset && !strings.EqualFold(charset, "utf-8") {
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
		m.protocol = GRPCWeb
	case base == grpcType, strings.HasPrefix(base, grpcType+"+"):
		m.protocol = GRPC
	case form == unary:
		m.codec, ok = strings.CutPrefix(base, "application/")
	default:
		ok = strings.HasPrefix(base, "application/connect+")
	}
	if !ok && m.protocol == Connect || m.codec != "json" && m.codec != "proto" {
		return m, false
	}
	if hasCharset && m.codec == "json" && m.protocol == Connect {
		m.canonical = base + "; charset=utf-8"
	}
	return m, true
}

// acceptPost lists the content types that a shape accepts over a version of
// HTTP.
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
