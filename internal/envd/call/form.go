package call

import (
	"bytes"
	"compress/gzip"
	"strconv"
	"strings"

	"assay/internal/wire"
)

// The protocols, as axes and exchanges name them. NDJSON is the alias /commands.
const (
	Connect = "connect"
	GRPC    = "grpc"
	GRPCWeb = "grpc-web"
	NDJSON  = "ndjson"
)

// The codecs of messages.
const (
	JSON  = "json"
	Proto = "proto"
)

// The compressions of messages.
const (
	Identity = "identity"
	Gzip     = "gzip"
)

// Form is the form of a request on the wire.
type Form struct {
	Protocol    string // Connect, GRPC or GRPCWeb
	Codec       string // JSON or Proto
	HTTP        string // 1.1, h2c or h2-tls
	Compression string // Identity or Gzip
	// Shape is the shape of procedures that are not in the method table; default Unary.
	Shape Shape
}

// ShapeOf returns the shape of a procedure.
func (f Form) ShapeOf(rpc string) Shape {
	if _, err := Method(rpc); err != nil && f.Shape != "" {
		return f.Shape
	}
	return ShapeOf(rpc)
}

// HTTP2 reports whether the request goes over HTTP/2.
func (f Form) HTTP2() bool { return strings.HasPrefix(f.HTTP, "h2") }

// GRPC reports whether the protocol is gRPC or gRPC-Web. Both differ from Connect in
// the same way: every message is enveloped, and message encodings have fields of their own.
func (f Form) GRPC() bool { return f.Protocol == GRPC || f.Protocol == GRPCWeb }

// Gzip reports whether messages are compressed.
func (f Form) Gzip() bool { return f.Compression == Gzip }

// Enveloped reports whether the messages of a procedure are enveloped.
func (f Form) Enveloped(rpc string) bool { return f.GRPC() || f.ShapeOf(rpc) == Stream }

// ContentType returns the content type of a request to a procedure.
func (f Form) ContentType(rpc string) string {
	switch {
	case f.GRPC():
		return "application/" + f.Protocol + "+" + f.Codec
	case f.ShapeOf(rpc) == Stream:
		return StreamType + f.Codec
	}
	return "application/" + f.Codec
}

// StreamType is the content type of a Connect stream, up to its codec.
const StreamType = "application/connect+"

// Accepts reports whether a content type is that of a successful response in this form.
// gRPC and gRPC-Web may omit the codec proto. Parameters and case do not matter.
func (f Form) Accepts(rpc, contentType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	kind = strings.TrimSpace(kind)
	return kind == f.ContentType(rpc) || f.GRPC() && f.Codec == Proto && kind == "application/"+f.Protocol
}

// ProtocolField returns the field by which a server recognises the protocol.
func (f Form) ProtocolField() wire.Field {
	switch f.Protocol {
	case GRPC:
		return wire.Field{Name: "Te", Value: "trailers"}
	case GRPCWeb:
		return wire.Field{Name: "X-Grpc-Web", Value: "1"}
	}
	return wire.Field{Name: "Connect-Protocol-Version", Value: "1"}
}

// EncodingNames returns the name of the field that declares the encoding of the
// request, and of the field that lists the accepted encodings of the response.
func (f Form) EncodingNames(rpc string) (declared, accepted string) {
	switch {
	case f.GRPC():
		return "Grpc-Encoding", "Grpc-Accept-Encoding"
	case f.ShapeOf(rpc) == Stream:
		return "Connect-Content-Encoding", "Connect-Accept-Encoding"
	}
	return "Content-Encoding", "Accept-Encoding"
}

// TimeoutName returns the name of the field that carries a deadline.
func (f Form) TimeoutName() string {
	if f.GRPC() {
		return "Grpc-Timeout"
	}
	return "Connect-Timeout-Ms"
}

// Timeout returns the field of a deadline in the unit of the protocol: milliseconds for
// Connect; for gRPC the smallest of milliseconds, seconds, minutes and hours whose
// number, rounded up, fits into eight digits.
func (f Form) Timeout(ms int64) wire.Field {
	if !f.GRPC() {
		return wire.Field{Name: f.TimeoutName(), Value: strconv.FormatInt(ms, 10)}
	}
	const most = 99_999_999
	value, unit := ms, "m"
	for _, coarser := range []struct {
		unit   string
		factor int64
	}{{"S", 1000}, {"M", 60}, {"H", 60}} {
		if value <= most {
			break
		}
		value, unit = value/coarser.factor+min(1, value%coarser.factor), coarser.unit
	}
	return wire.Field{Name: f.TimeoutName(), Value: strconv.FormatInt(min(value, most), 10) + unit}
}

// Body encodes a request message: in the codec, compressed and enveloped as the form
// and the procedure require.
func (f Form) Body(m Message) ([]byte, error) {
	payload, err := Encode(m, f.Codec)
	if err != nil {
		return nil, err
	}
	if f.Gzip() {
		payload = Compress(payload)
	}
	return f.Envelope(m.Procedure(), payload), nil
}

// Envelope wraps an encoded message in an envelope if the messages of the procedure are
// enveloped. It sets the compressed flag if the form is compressed.
func (f Form) Envelope(rpc string, payload []byte) []byte {
	if !f.Enveloped(rpc) {
		return payload
	}
	var flags byte
	if f.Gzip() {
		flags = wire.FlagCompressed
	}
	return wire.AppendEnvelope(nil, flags, payload)
}

// Compress returns p as one gzip member. Equal input gives equal output.
func Compress(p []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(p) // writing to a bytes.Buffer never fails
	_ = w.Close()
	return b.Bytes()
}
