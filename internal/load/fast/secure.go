//go:build linux && (amd64 || arm64)

package fast

import (
	"errors"

	"golang.org/x/sys/unix"

	"assay/internal/base/tlsloop"
)

// sendTLS is the [tlsloop.Send] of the loops.
func sendTLS(fd int32, p []byte) (int, error) {
	n, e := send(fd, p)
	switch {
	case e == unix.EAGAIN:
		return 0, nil
	case e != 0:
		return 0, e
	}
	return n, nil
}

// transmit writes p to a connection. With TLS, all of p may be accepted although a part of it
// is pending.
func transmit(fd int32, t *tlsloop.Conn, p []byte) (int, unix.Errno) {
	if t == nil {
		return send(fd, p)
	}
	err := t.Write(p)
	var e unix.Errno
	switch {
	case err == nil:
		return len(p), 0
	case errors.Is(err, tlsloop.ErrFull):
		return 0, unix.EAGAIN
	case errors.As(err, &e):
		return 0, e
	}
	return 0, unix.EPIPE // reading has found what is wrong
}
