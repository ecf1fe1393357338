// Package filesystemconnect holds the client and the handler of envd's filesystem service. All else in it is generated
// (`make generate`) from internal/envd/proto.
package filesystemconnect
