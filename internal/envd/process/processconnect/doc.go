// Package processconnect holds the client and the handler of envd's process service. All else in it is generated
// (`make generate`) from internal/envd/proto.
package processconnect
