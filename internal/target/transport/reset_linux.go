package transport

import (
	"encoding/binary"
	"syscall"
)

// tcpClosed is TCP_CLOSE of the kernel.
const tcpClosed = 7

// dead reports whether the kernel has closed the connection, so that no write can be
// pending: it has after a reset, but not after a FIN, where the peer may still read.
func (c *Conn) dead() bool {
	socket, ok := c.base.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	state := byte(0)
	_ = raw.Control(func(fd uintptr) {
		// The state is the first byte of TCP_INFO.
		if n, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO); err == nil {
			state = binary.NativeEndian.AppendUint32(nil, uint32(n))[0]
		}
	})
	return state == tcpClosed
}
