//go:build unix

package portable

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// isOpen reports whether the peer has not closed an idle connection. A gateway may close a
// connection after a response without notice.
func isOpen(c net.Conn) bool {
	if s, ok := c.(*tls.Conn); ok {
		c = s.NetConn()
	}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	open := false
	err = raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		open = n > 0 || errors.Is(err, unix.EAGAIN)
	})
	return err == nil && open
}
