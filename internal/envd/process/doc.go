// Package process holds the messages of envd's process service. Everything else in it
// is generated (`make generate`) from internal/envd/proto.
package process
