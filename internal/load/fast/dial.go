//go:build linux && (amd64 || arm64)

package fast

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"assay/internal/load"
)

// dialer opens non-blocking connections to one address.
type dialer struct {
	to      netip.AddrPort
	unknown error        // why the address is unknown
	sources []netip.Addr // used in turns; when empty, the kernel chooses
	dialled int
}

// perSource is how many connections one source makes to one address. Beyond it, the
// kernel's search for a free port dominates the cost of connecting: the kernel prefers one
// half of the 28,000 ports, and tries them one by one when few are left.
const perSource = 10_000

// resolve returns the address of a plan. It resolves a name by connecting once, so that it
// chooses an address that accepts connections.
func resolve(ctx context.Context, p *load.Plan) (netip.AddrPort, error) {
	addr := p.Addr
	if to, err := netip.ParseAddrPort(addr); err == nil {
		return netip.AddrPortFrom(to.Addr().Unmap(), to.Port()), nil
	}
	d := net.Dialer{Timeout: p.Limits.Connect}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("the address of %s: %w", addr, err)
	}
	defer c.Close()
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("the address of %s is not a TCP address: %v", addr, c.RemoteAddr())
	}
	to := tcp.AddrPort()
	return netip.AddrPortFrom(to.Addr().Unmap(), to.Port()), nil
}

// loopbacks returns the sources for a number of connections to a loopback address: nil when
// the one that the kernel chooses is enough.
func loopbacks(to netip.Addr, connections int) []netip.Addr {
	if !to.Is4() || !to.IsLoopback() || connections <= perSource {
		return nil
	}
	var all []netip.Addr
	for i := range min((connections+perSource-1)/perSource, 250) {
		all = append(all, netip.AddrFrom4([4]byte{127, 0, 0, byte(i + 1)}))
	}
	return all
}

// connect begins to connect and returns the socket. An event reports the end of the dial.
func (d *dialer) connect() (int32, error) {
	if d.unknown != nil {
		return 0, d.unknown
	}
	family := unix.AF_INET
	if d.to.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return 0, err
	}
	if err := d.prepare(fd); err != nil {
		_ = unix.Close(fd)
		return 0, err
	}
	sa, n := sockaddr(d.to)
	_, _, e := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&sa)), n)
	if e != 0 && e != unix.EINPROGRESS && e != unix.EINTR {
		_ = unix.Close(fd)
		return 0, e
	}
	d.dialled++
	return int32(fd), nil //nolint:gosec // a descriptor
}

func (d *dialer) prepare(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return err
	}
	// Without stamps, the driver's own clock is used.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	if len(d.sources) == 0 {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
		return err
	}
	sa, n := sockaddr(netip.AddrPortFrom(d.sources[d.dialled%len(d.sources)], 0))
	if _, _, e := unix.RawSyscall(unix.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(&sa)), n); e != 0 {
		return e
	}
	return nil
}

// sockaddr returns a struct sockaddr_in or sockaddr_in6, and its length.
func sockaddr(a netip.AddrPort) (sa [unix.SizeofSockaddrInet6]byte, n uintptr) {
	binary.BigEndian.PutUint16(sa[2:], a.Port())
	if a.Addr().Is4() {
		binary.NativeEndian.PutUint16(sa[:], unix.AF_INET)
		ip := a.Addr().As4()
		copy(sa[4:], ip[:])
		return sa, unix.SizeofSockaddrInet4
	}
	binary.NativeEndian.PutUint16(sa[:], unix.AF_INET6)
	ip := a.Addr().As16()
	copy(sa[8:], ip[:])
	if zone, err := net.InterfaceByName(a.Addr().Zone()); err == nil {
		binary.NativeEndian.PutUint32(sa[24:], uint32(zone.Index)) //nolint:gosec // small
	}
	return sa, unix.SizeofSockaddrInet6
}

// dialError returns the error of a finished dial, nil when there is a connection.
func dialError(fd int32) error {
	e, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
	switch {
	case err != nil:
		return err
	case e != 0:
		return unix.Errno(e) //nolint:gosec // an errno
	}
	return nil
}

// closeSocket closes a socket; unread bytes are lost.
func closeSocket(fd int32) {
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
}

// errNoLoop is the error of an event loop that could not be made.
var errNoLoop = errors.New("no event loop")
