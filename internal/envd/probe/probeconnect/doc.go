// Package probeconnect holds the client and the handler of the probe service.
// Everything else in it is generated (`make generate`) from internal/envd/proto.
package probeconnect
