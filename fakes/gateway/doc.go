// Package gateway is the reference gateway: an implementation that is meant to
// be correct in every response.
//
// It speaks Connect, gRPC and gRPC-Web over HTTP/1.1 and HTTP/2, with TLS and
// without; gRPC needs HTTP/2. Beside process.Process it mounts assay.v1.Probe,
// the NDJSON alias /commands, /metrics and /health.
//
// What lives here: the table of processes, the distribution of their output,
// the surfaces, and the Seams where decorators change them. What may not: any
// fault, scenarios, observations and verdicts. A gateway never looks at who is
// asking.
//
// A request passes, from the outside in: connection (bytes) → front → strict
// layer and authorization → connect-go → service → table → sandbox, which is
// virtual or the machine's own. Output comes back: sandbox → output → hub
// (lines, readers) → events → frames → connection. Each of these steps is a
// seam; see seams.go.
package gateway
