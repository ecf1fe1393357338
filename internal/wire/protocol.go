package wire

import "strings"

// Protocol is one of the three RPC protocols whose messages are enveloped. They
// share the envelope's form and differ in its flags.
type Protocol uint8

// The protocols. The zero value is Connect.
const (
	Connect Protocol = iota
	GRPC
	GRPCWeb
)

// ProtocolByName finds a protocol by the name that axes have: connect ("" too),
// grpc or grpc-web.
func ProtocolByName(name string) (p Protocol, ok bool) {
	switch name {
	case "", "connect":
		return Connect, true
	case "grpc":
		return GRPC, true
	case "grpc-web":
		return GRPCWeb, true
	}
	return Connect, false
}

// String is the protocol's name: connect, grpc or grpc-web.
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

// endFlag is the flag of the envelope after which nothing follows, 0 where there is none.
func (p Protocol) endFlag() byte {
	switch p {
	case GRPC:
		return 0
	case GRPCWeb:
		return FlagTrailer
	default:
		return FlagEndStream
	}
}

func (p Protocol) legalBits() string {
	switch p {
	case GRPC:
		return "0x01"
	case GRPCWeb:
		return "0x01 and 0x80"
	default:
		return "0x01 and 0x02"
	}
}

func (p Protocol) endName() string {
	if p == GRPCWeb {
		return "the trailer frame"
	}
	return "the end-of-stream envelope"
}

// Kind is the protocol's own kind for a breach of the envelope, which is given
// as Connect has it: envelope.truncated-header becomes grpc.truncated-header.
// Any other kind stays as it is.
func (p Protocol) Kind(k Kind) Kind {
	name, ok := strings.CutPrefix(string(k), "envelope.")
	if p == Connect || !ok {
		return k
	}
	if k == BytesAfterEnd {
		return WebBytesAfterEnd
	}
	return Kind(p.String() + "." + name)
}
