package testkit

import (
	"net"
	"strconv"
	"syscall"
	"testing"
)

// ClosedPort is an address of this machine that refuses connections until listen is
// called, or for as long as the test lasts. The port is taken meanwhile, so that
// nobody else comes to listen there.
func ClosedPort(t testing.TB) (addr string, listen func()) {
	t.Helper()
	return take(t, 0)
}

// ReservedPort is an address of this machine for a server that is told its number, and may start there several times.
// Nobody else gets the port by chance for as long as the test lasts.
func ReservedPort(t testing.TB) string {
	t.Helper()
	addr, _ := take(t, 1)
	return addr
}

// take binds a socket to a free port. With reuse 1, others may bind theirs to it who ask for this port, and for reuse too.
func take(t testing.TB, reuse int) (addr string, listen func()) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	check(err)
	syscall.CloseOnExec(fd)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	check(syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, reuse))
	check(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := syscall.Getsockname(fd)
	check(err)
	port := 0
	if at, ok := name.(*syscall.SockaddrInet4); ok {
		port = at.Port
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), func() { check(syscall.Listen(fd, 8)) }
}
