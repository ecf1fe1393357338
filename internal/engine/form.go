package engine

import (
	"fmt"
	"strconv"

	"assay/internal/bundle"
	"assay/internal/transport"
	"assay/internal/wire"
)

// Values of the axes that need more than the default.
const (
	protocolConnect = "connect"
	protocolGRPC    = "grpc"
	protocolGRPCWeb = "grpc-web"
	codecJSON       = "json"
	codecProto      = "proto"
	http11          = "1.1"
	httpH2C         = "h2c"
	httpH2TLS       = "h2-tls"
	compressionGzip = "gzip"
)

// form is what a request looks like on the wire: the axes of its instance, or
// what the step says instead of them.
type form bundle.Axes

// http2 reports whether the request goes as fields and DATA and not as text.
func (f form) http2() bool { return f.HTTP == httpH2C || f.HTTP == httpH2TLS }

// grpc reports whether the request is one of gRPC or gRPC-Web, which differ
// from Connect in the same way: every message is enveloped, and the encoding of
// messages has fields of its own.
func (f form) grpc() bool { return f.Protocol == protocolGRPC || f.Protocol == protocolGRPCWeb }

// gzip reports whether messages are compressed.
func (f form) gzip() bool { return f.Compression == compressionGzip }

// enveloped reports whether the messages of an RPC stand in envelopes.
func (f form) enveloped(shape bundle.Shape) bool { return f.grpc() || shape == bundle.ShapeStream }

// contentType is that of a request of an RPC.
func (f form) contentType(shape bundle.Shape) string {
	switch {
	case f.grpc():
		return "application/" + f.Protocol + "+" + f.Codec
	case shape == bundle.ShapeStream:
		return "application/connect+" + f.Codec
	}
	return "application/" + f.Codec
}

// encodingFields are the fields that name the encoding of the request, and those
// that are accepted.
func (f form) encodingFields(shape bundle.Shape) (encoding, accepts string) {
	switch {
	case f.grpc():
		return "Grpc-Encoding", "Grpc-Accept-Encoding"
	case shape == bundle.ShapeStream:
		return "Connect-Content-Encoding", "Connect-Accept-Encoding"
	}
	return "Content-Encoding", "Accept-Encoding"
}

// timeoutField is the field that carries a deadline.
func (f form) timeoutField() string {
	if f.grpc() {
		return "Grpc-Timeout"
	}
	return "Connect-Timeout-Ms"
}

// timeout is a deadline in the protocol's own unit: milliseconds for Connect; for
// gRPC the smallest of milliseconds, seconds, minutes and hours that fits into
// eight digits, rounded up.
func (f form) timeout(ms int64) string {
	if !f.grpc() {
		return strconv.FormatInt(ms, 10)
	}
	const most = 99_999_999
	value, unit := ms, byte('m')
	for _, coarser := range []struct {
		unit   byte
		factor int64
	}{{'S', 1000}, {'M', 60}, {'H', 60}} {
		if value <= most {
			break
		}
		value, unit = value/coarser.factor+min(1, value%coarser.factor), coarser.unit
	}
	return strconv.FormatInt(min(value, most), 10) + string(unit)
}

// message is a request message, given as JSON, in the codec. It is compressed and
// enveloped as the form and the shape of the RPC want it.
func (f form) message(rpc string, json []byte) ([]byte, error) {
	payload, err := transport.Message(rpc, f.Codec, json)
	if err != nil {
		return nil, fmt.Errorf("the message for %s cannot be sent as %s: %w", rpc, f.Codec, err)
	}
	var flags byte
	if f.gzip() {
		flags = wire.FlagCompressed
		payload = gzipped(payload)
	}
	if !f.enveloped(transport.ShapeOf(rpc)) {
		return payload, nil
	}
	return wire.AppendEnvelope(nil, flags, payload), nil
}
