// Package envd is the envd protocol as Go types: the process and filesystem services
// (generated from proto/, see `make generate`), and the strict decoding of one process
// event from an envelope's payload or an NDJSON line.
//
// It is pure, and framing and transport do not belong here; see internal/wire.
package envd
