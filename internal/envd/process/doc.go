// Package process holds the messages of envd's process service. All else in it is generated
// (`make generate`) from internal/envd/proto.
package process
