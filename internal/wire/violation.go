package wire

import "fmt"

// Kind is the kind of a violation. The judge maps kinds to rules.
type Kind string

// The kinds that decoders report.
const (
	// Envelopes.
	ReservedFlags     Kind = "envelope.reserved-flags"         // bits other than 0x01 and 0x02
	BytesAfterEnd     Kind = "envelope.bytes-after-end-stream" // anything after the end-of-stream envelope
	TruncatedHeader   Kind = "envelope.truncated-header"       // 1 to 4 bytes of a header
	TruncatedPayload  Kind = "envelope.truncated-payload"      // the body ended inside a payload
	PayloadOverLimit  Kind = "envelope.length-over-limit"      // the declared length is over the decoder's limit
	CompressedUnasked Kind = "envelope.compressed-undeclared"  // flag 0x01 without a declared encoding
	BadCompression    Kind = "envelope.bad-compression"        // the payload does not decompress
	// End of stream and errors.
	EndStreamJSON     Kind = "end-stream.json"     // not one JSON object
	EndStreamShape    Kind = "end-stream.shape"    // error is present and null, empty, or not an object
	EndStreamMetadata Kind = "end-stream.metadata" // not an object of arrays of legal strings
	ErrorJSON         Kind = "error.json"          // not one JSON object
	ErrorCode         Kind = "error.code"          // absent, not a string, or not one of the 16
	ErrorMessage      Kind = "error.message"       // not a UTF-8 string
	ErrorDetails      Kind = "error.details"       // type with URL prefix, value not unpadded base64, not an array
	// NDJSON.
	LineJSON         Kind = "ndjson.json"  // a line that is not one JSON object
	LineEmpty        Kind = "ndjson.empty" // an empty line
	LineOverLimit    Kind = "ndjson.line-over-limit"
	LineUnterminated Kind = "ndjson.no-final-newline"
	LineUTF8         Kind = "ndjson.utf-8"
	// HTTP/1.1.
	HTTPStatusLine    Kind = "http.status-line"     // not HTTP at all
	HTTPHeader        Kind = "http.header"          // a malformed field line
	HTTPHeadOverLimit Kind = "http.head-over-limit" // endless headers
	HTTPFraming       Kind = "http.framing"         // two framings, two different lengths, an invalid length
	HTTPChunk         Kind = "http.chunk"           // a malformed chunk size or a missing CRLF
	HTTPTruncated     Kind = "http.truncated"       // the connection ended inside a response
	HTTPExtra         Kind = "http.extra-bytes"     // unrequested bytes after the last response
)

// The kinds of gRPC.
const (
	GRPCReservedFlags     Kind = "grpc.reserved-flags" // bits other than 0x01
	GRPCTruncatedHeader   Kind = "grpc.truncated-header"
	GRPCTruncatedPayload  Kind = "grpc.truncated-payload"
	GRPCOverLimit         Kind = "grpc.length-over-limit"
	GRPCCompressedUnasked Kind = "grpc.compressed-undeclared" // flag 0x01 without grpc-encoding
	GRPCBadCompression    Kind = "grpc.bad-compression"

	// The status, also of gRPC-Web.
	GRPCStatusMissing   Kind = "grpc.status-missing"   // a complete response without grpc-status
	GRPCStatusValue     Kind = "grpc.status-value"     // not a decimal number from 0 to 16, or with leading zeros
	GRPCStatusRepeated  Kind = "grpc.status-repeated"  // more than one
	GRPCMessageEncoding Kind = "grpc.message-encoding" // not percent-encoded UTF-8
	GRPCMessageRepeated Kind = "grpc.message-repeated" // more than one
	GRPCMessageOnOK     Kind = "grpc.message-on-ok"    // not empty although the status is 0
	GRPCDetailsBase64   Kind = "grpc.details-base64"   // grpc-status-details-bin is not base64
	GRPCDetailsPadded   Kind = "grpc.details-padded"   // grpc-status-details-bin is padded base64
	GRPCDetailsProto    Kind = "grpc.details-proto"    // not a google.rpc.Status
	GRPCDetailsDisagree Kind = "grpc.details-disagree" // its code or message differs from the status
	GRPCDetailsOnOK     Kind = "grpc.details-on-ok"    // present although the status is 0
	GRPCMessageCount    Kind = "grpc.unary-messages"   // a unary RPC: no message at status 0, or several
	GRPCUnknownHeader   Kind = "grpc.reserved-name"    // an unknown name that begins with grpc-
)

// The kinds of gRPC-Web.
const (
	WebReservedFlags     Kind = "grpc-web.reserved-flags"       // flags other than 0x00, 0x01, 0x80 and 0x81
	WebBytesAfterEnd     Kind = "grpc-web.bytes-after-trailers" // anything after the trailer frame
	WebTruncatedHeader   Kind = "grpc-web.truncated-header"
	WebTruncatedPayload  Kind = "grpc-web.truncated-payload"
	WebOverLimit         Kind = "grpc-web.length-over-limit"
	WebCompressedUnasked Kind = "grpc-web.compressed-undeclared"
	WebBadCompression    Kind = "grpc-web.bad-compression"
	WebTrailersMissing   Kind = "grpc-web.trailers-missing"   // neither a trailer frame nor a status in the headers
	WebTrailerLine       Kind = "grpc-web.trailer-line"       // not "name: value", or without CRLF
	WebTrailerCase       Kind = "grpc-web.trailer-case"       // a name not in lower case
	WebTrailerBlankLine  Kind = "grpc-web.trailer-blank-line" // an empty line
	WebTrailerFolded     Kind = "grpc-web.trailer-folded"     // a continuation of the previous line
	WebHTTPTrailers      Kind = "grpc-web.http-trailers"      // the status is in HTTP trailers
)

// The kinds of HTTP/2 (RFC 9113).
const (
	H2Preface          Kind = "http2.preface"            // the first frame is not SETTINGS, or the peer does not speak HTTP/2
	H2FrameSize        Kind = "http2.frame-size"         // a length over the limit, or wrong for the type
	H2Protocol         Kind = "http2.protocol"           // a frame on the wrong stream, or a malformed one
	H2Continuation     Kind = "http2.continuation"       // an interrupted or endless header block
	H2HeaderBlock      Kind = "http2.header-compression" // not HPACK
	H2HeaderOverLimit  Kind = "http2.header-over-limit"  // the decoded header list is too large
	H2PseudoHeader     Kind = "http2.pseudo-header"      // a missing, repeated, unknown or misplaced pseudo-header
	H2FieldName        Kind = "http2.field-name"         // upper case, or not a token
	H2FieldValue       Kind = "http2.field-value"        // control characters, or surrounding spaces
	H2ConnectionHeader Kind = "http2.connection-header"  // connection, transfer-encoding and the like
	H2Trailers         Kind = "http2.trailers"           // trailers without END_STREAM
	H2Order            Kind = "http2.order"              // DATA before the final HEADERS
	H2IdleStream       Kind = "http2.idle-stream"        // a frame on an idle stream
	H2ClosedStream     Kind = "http2.closed-stream"      // DATA or HEADERS after END_STREAM or RST_STREAM
	H2FlowControl      Kind = "http2.flow-control"       // more DATA than the window, or a window above 2^31-1
	H2WindowIncrement  Kind = "http2.window-increment"   // an increment of 0
	H2Settings         Kind = "http2.settings"           // an invalid value
	H2Push             Kind = "http2.push"               // PUSH_PROMISE although push is disabled
	H2GoAway           Kind = "http2.goaway"             // the last stream id grows
	H2ContentLength    Kind = "http2.content-length"     // content-length is not the sum of DATA
	H2Truncated        Kind = "http2.truncated"          // the connection ended inside a frame
)

// Violation is one violation: kind, place and description.
type Violation struct {
	Kind   Kind
	Off    int64 // byte offset in the decoder's input
	Detail string
}

// report hands on a violation; a nil function drops it.
func report(to func(Violation), k Kind, off int64, format string, args ...any) {
	if to != nil {
		to(Violation{Kind: k, Off: off, Detail: fmt.Sprintf(format, args...)})
	}
}
