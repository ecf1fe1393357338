// Package probe holds the messages of the probe service, which a gateway may mount
// beside its own. Everything else in it is generated (`make generate`) from
// internal/envd/proto.
package probe
