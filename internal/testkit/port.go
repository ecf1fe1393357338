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
	check(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := syscall.Getsockname(fd)
	check(err)
	port := 0
	if at, ok := name.(*syscall.SockaddrInet4); ok {
		port = at.Port
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), func() { check(syscall.Listen(fd, 8)) }
}
