package wire

import "strings"

// Protocol is an RPC protocol with enveloped messages. The protocols
// share the envelope's form and differ in its flags.
type Protocol uint8

// The protocols. The zero value is Connect.
const (
	Connect Protocol = iota
	GRPC
	GRPCWeb
)

// ProtocolByName finds a protocol by its name in axes: connect (also ""),
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

// String returns the protocol's name: connect, grpc or grpc-web.
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

// endFlag is the flag of the last envelope, 0 if the protocol has none.
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

// Kind converts an envelope violation of Connect to the protocol's own kind:
// envelope.truncated-header becomes grpc.truncated-header. Any other kind stays the same.
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
