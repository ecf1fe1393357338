// Package fakes holds the gateways that Assay itself is tested against: a
// reference gateway that is meant to be right in every answer, and decorators
// that break it in one named way (faults), let it differ in one legal way
// (variants), or together make it behave like a gateway that exists (likes).
//
// It speaks Connect, gRPC and gRPC-Web over HTTP/1.1 and HTTP/2, with TLS and
// without; gRPC needs HTTP/2. Beside process.Process it mounts assay.v1.Probe,
// the NDJSON alias /commands, /metrics and /health.
//
// What lives here: the table of processes, the fan-out of their output, the
// RPC and NDJSON surfaces, and a strict layer in front of connect-go. What may
// not: anything about scenarios, observations or verdicts. A gateway knows
// rules only as strings, and never looks at who is asking.
//
// A request passes, from the outside in: connection (bytes) → front → strict
// layer and authorization → connect-go → service → table → Sandbox, which is
// virtual or the machine's own. Output comes back:
// sandbox → output (lines) → hub → events → frames → connection. Each of these
// steps is a seam where a decorator can be put; see seams.go.
package gateway
