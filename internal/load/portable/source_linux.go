package portable

import "syscall"

// bindAddressNoPort is IP_BIND_ADDRESS_NO_PORT of linux/in.h.
const bindAddressNoPort = 24

// latePort makes the kernel choose the port of a socket with a source address only when it
// connects. A port then serves one connection per destination, and not only one in all.
// A kernel without the option chooses the port at once.
func latePort(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, bindAddressNoPort, 1)
	})
}
