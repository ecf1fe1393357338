// Package gateway is the reference gateway: an implementation that is meant to
// be correct in every response.
//
// It speaks Connect, gRPC and gRPC-Web over HTTP/1.1 and HTTP/2, with TLS and
// without; gRPC needs HTTP/2. Beside process.Process it mounts assay.v1.Probe,
// the NDJSON alias /commands, stdio over WebSocket on /attach (package stdio)
// with a terminal for browsers on /terminal (package terminal),
// filesystem.Filesystem and /files (package files), code execution on /execute and
// /contexts (package interpreter), /envs, /init, /metrics and /health.
//
// It contains the process table, the distribution of output, the surfaces, and
// the Seams at which decorators change them. It contains no faults, scenarios,
// observations or verdicts. A gateway treats all clients alike.
//
// A request passes, from the outside in: connection (bytes) → front → strict
// layer and authorization → connect-go → service → table → sandbox, with
// virtual or real processes. Output comes back: sandbox → output → hub (lines,
// readers) → events → frames → connection. Each of these steps is a seam; see
// seams.go.
package gateway
