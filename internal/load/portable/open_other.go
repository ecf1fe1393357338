//go:build !unix

package portable

import "net"

// isOpen is true: here a closed connection is found by the next read.
func isOpen(net.Conn) bool { return true }
