// Package filesystemconnect holds the client and the handler of envd's filesystem
// service. Everything else in it is generated (`make generate`) from
// internal/envd/proto.
package filesystemconnect
