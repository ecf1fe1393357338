package wire

// Kind names a breach of a wire rule. The judge maps kinds to rules.
type Kind string

// The breaches that decoders report.
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
	HTTPFraming       Kind = "http.framing"         // both lengths, two different lengths, a length that is no number
	HTTPChunk         Kind = "http.chunk"           // a malformed chunk size or a missing CRLF
	HTTPTruncated     Kind = "http.truncated"       // the connection ended inside a response
	HTTPExtra         Kind = "http.extra-bytes"     // bytes after the last response that nobody asked for
)

// Violation is one breach: what, where, and in words.
type Violation struct {
	Kind   Kind
	Off    int64 // byte offset in what the decoder was fed
	Detail string
}
