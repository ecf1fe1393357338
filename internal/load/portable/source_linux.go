package portable

import "syscall"

// bindAddressNoPort is IP_BIND_ADDRESS_NO_PORT of linux/in.h.
const bindAddressNoPort = 24

// latePort lets a socket that is bound to a source address choose its port when it
// connects: one port then serves one connection for each other end, and not one in all.
// Where the option is unknown, the port is chosen at once.
func latePort(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, bindAddressNoPort, 1)
	})
}
