// Package filesystem holds the messages of envd's filesystem service. Everything else
// in it is generated (`make generate`) from internal/envd/proto.
package filesystem
