// Package transport talks HTTP/1.1 and HTTP/2, in plain and over TLS, at the level
// of bytes and frames: it sends exactly what it is given, decodes everything that
// comes back (Connect, gRPC, gRPC-Web, NDJSON or a plain body), and records both as
// the types of package bundle.
//
// Nothing is corrected, retried or judged here. A hostile peer (endless
// headers, a length of 2 GiB, a flood of frames, garbage, silence, a reset) ends in
// an outcome of the record, with bounded memory. What a request should look like
// is the caller's business; deadlines are the caller's contexts and GiveUp.
//
// # HTTP/2
//
// The client is our own, on the Framer and HPACK of golang.org/x/net: many
// exchanges share one connection, SETTINGS and PING are acknowledged, flow control
// and the peer's SETTINGS are kept to. Every frame of both directions is
// recorded. An answer that breaks RFC 9113 ends as garbage with a violation that
// has a kind of http2.*; a breach of the connection ends all answers on it. A raw
// connection does nothing by itself: its frames are rendered by field, rightly or wrongly.
//
// # Bounds of the record
//
// Decoding always goes on to the end; what is kept is bounded: 20,000 frames
// and as many events per exchange (frames with flags and events other than data and keepalive
// are kept for another 1,000), 1 MiB of frame heads, 256 violations, 2,048 entries per chunk
// table, 4,096 HTTP/2 frames (of which 1,024 are other than DATA, WINDOW_UPDATE and
// PING) and 256 KiB of raw bytes per direction of a connection, 16 MiB per output or body. What was
// left out is said in Exchange.Detail and Recorder.Dropped.
//
// # Secrets
//
// Secrets given to NewRecorder never reach a record: each occurrence in raw
// bytes, header values, bodies, outputs and texts is overwritten with as many
// asterisks, so that offsets stay true. The live views of an exchange (Output,
// BodyBytes) are not redacted. Of other encodings only HPACK's of a whole header value is
// recognised: no base64, no escapes.
package transport
