// Package controlplane is the REST control plane of a sandbox service: it creates
// sandboxes, each a gateway of its own, and ends them.
//
// A Plane stands in front of a handler (Over) or of a gateway (Attach). It serves
// /sandboxes and the routes beside it, and passes the requests that name a sandbox,
// by header or by host, to the gateway of that sandbox. docs/control-plane.md lists
// what is served and what is not.
//
// A request passes: Seams.API or Seams.Traffic → routes → Sandboxes → sandbox. Each
// of these steps is a seam. The package contains no faults, and nothing of processes
// or files.
package controlplane
