package portable_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
)

// A listener with a full backlog drops further connections.
func TestNoConnectionInTimeIsAConnectTimeout(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for range 4 { // fill it: on loopback, a connection is established when the call returns
		c, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Close(c) }()
		if err := syscall.Connect(c, name); err != nil && !errors.Is(err, syscall.EINPROGRESS) {
			t.Fatal(err)
		}
	}
	each(t, func(t *testing.T, e load.Engine) {
		c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, addr, func(p *load.Plan) { p.Limits.Connect = loadtest.Soon }))
		c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamConnectTimeout: 1})
	})
}
