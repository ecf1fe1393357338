// Package transport is a client of HTTP/1.1 and HTTP/2, in cleartext and over TLS, at the
// level of bytes and frames: it sends exactly the given bytes, decodes every response
// (Connect, gRPC, gRPC-Web, NDJSON or a plain body), and records both as the types of
// package bundle.
//
// It corrects, retries and judges nothing. A hostile peer (endless headers, a length
// of 2 GiB, a flood of frames, garbage, silence, a reset) results in an outcome of the
// record, with bounded memory. Callers build the requests and set the deadlines, with
// contexts and GiveUp.
//
// # Protocols
//
// A connection speaks one protocol at a time, behind the interface protocol: http1 or
// mux. It stands on any net.Conn, so recorded bytes can be decoded from memory.
//
// # HTTP/2
//
// The client is our own, on the Framer and HPACK of golang.org/x/net: many
// exchanges share one connection, SETTINGS and PING are acknowledged, and flow control
// and the peer's SETTINGS are respected. Every frame of both directions is
// recorded. A response that violates RFC 9113 ends as garbage, with a violation of a kind
// http2.*; a connection error ends all responses on the connection. A raw connection
// sends nothing by itself: its frames are rendered by field, valid or not.
//
// # Limits of the record
//
// Decoding always continues to the end, but the record is limited: 20,000 frames
// and as many events per exchange, 1 MiB of frame heads, 256 violations, 2,048 entries per chunk
// table, 4,096 HTTP/2 frames (1,024 of them reserved for types other than DATA,
// WINDOW_UPDATE and PING) and 256 KiB of raw bytes per direction of a connection, 16 MiB
// per output or body. Exchange.Detail and Recorder.Dropped report omissions.
//
// Assay stops reading a response of more than 64 MiB or 400,000 frames (4 MiB or 50,000 once three
// responses of the run were left unread), a connection with more than 50,000 HTTP/2 frames without
// content (then 5,000), a response with a message of more than 8 MiB (an error or end-of-stream
// message: 1 MiB), also after decompression, one with more than 1,000 special events or frames
// (other than data and keepalive, or with flags), and any response whose record does not fit into
// the Memory that the recorders of a run share. Such an exchange ends as aborted, and
// Exchange.Unread says why. It breaks no rule.
//
// # Secrets
//
// The secrets of the redactor passed to NewRecorder never reach a record: each occurrence in
// raw bytes, header values, bodies, outputs and texts, in any encoding of package secret, is
// overwritten at the same length, so that offsets stay valid. Compressed bytes are overwritten
// whole if they contain a secret, or have more than is decompressed; with more than 64 such messages, all
// raw bytes of the connection are. Chunks and DATA frames are joined
// for the search. A secret that the peer splits over several messages is found where they are joined
// (outputs, bodies), but not in their single frames. The live views of an exchange (Output,
// BodyBytes) are not redacted.
package transport
