//go:build !unix

package load

import (
	"net"
)

// readiness reads a connection. Where sockets cannot be asked whether they are
// readable, each connection holds a buffer of its own.
type readiness struct {
	nc  net.Conn
	buf [4 << 10]byte
}

func (r *readiness) attach(nc net.Conn, _ *buffers) { r.nc = nc }

func (r *readiness) read() ([]byte, error) {
	n, err := r.nc.Read(r.buf[:])
	return r.buf[:n], err
}

func (r *readiness) free() {}

// closedByPeer is not known before the next read.
func (r *readiness) closedByPeer() bool { return false }
