//go:build !unix

package gateway

// realProcesses says whether this system can run real processes.
const realProcesses = false

// realSandbox is never called.
func realSandbox(string) Sandbox { return nil }
