// Package transport talks HTTP/1.1 at the level of bytes: it sends exactly what
// it is given, decodes everything that comes back, and records both as the
// types of package bundle.
//
// Nothing is corrected, retried or judged here. A hostile peer (endless
// headers, a length of 2 GiB, garbage, silence, a reset) ends in an outcome of
// the record, with bounded memory. What a request should look like is the
// caller's business; deadlines are the caller's contexts and GiveUp.
//
// # Bounds of the record
//
// Decoding always goes on to the end; what is kept is bounded: 20,000 frames
// and as many events per exchange (frames with flags and events other than data and keepalive
// are kept for another 1,000), 1 MiB of frame heads, 256 violations, 2,048 entries per chunk
// table, 256 KiB of raw bytes per direction, 64 MiB per output or body. What was
// left out is said in Exchange.Detail and Recorder.Dropped.
//
// # Secrets
//
// Secrets given to NewRecorder never reach a record: each occurrence in raw
// bytes, header values, bodies, outputs and texts is overwritten with as many
// asterisks, so that offsets stay true. The live views of an exchange (Output,
// BodyBytes) are not redacted. A secret that was re-encoded (base64, escapes) is not recognised.
package transport
