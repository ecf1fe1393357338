// Package filesystem holds the messages of envd's filesystem service. All else in it is generated
// (`make generate`) from internal/envd/proto.
package filesystem
