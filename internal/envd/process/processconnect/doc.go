// Package processconnect holds the client and the handler of envd's process service.
// Everything else in it is generated (`make generate`) from internal/envd/proto.
package processconnect
