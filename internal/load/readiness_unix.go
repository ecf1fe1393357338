//go:build unix

package load

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// readiness reads a connection with a buffer that is taken only when there is
// something to read: a connection that waits holds none.
type readiness struct {
	raw     syscall.RawConn
	buffers *buffers
	buf     *[bufferSize]byte
	n       int
	err     error
	attempt func(fd uintptr) bool

	nc  net.Conn // where a buffer of its own is needed
	own *[ownSize]byte
}

// ownSize is the buffer of a connection that cannot be asked whether it is readable.
const ownSize = 4 << 10

func (r *readiness) attach(nc net.Conn, b *buffers) {
	*r = readiness{buffers: b}
	r.attempt = r.try
	sc, ok := nc.(syscall.Conn)
	if !ok { // TLS: it reads ahead, so the socket says nothing
		r.nc, r.own = nc, new([ownSize]byte)
		return
	}
	r.raw, r.err = sc.SyscallConn()
}

// read waits until there is something and reads it. What is returned is valid until free.
func (r *readiness) read() ([]byte, error) {
	if r.nc != nil {
		n, err := r.nc.Read(r.own[:])
		return r.own[:n], err
	}
	if r.raw == nil {
		return nil, r.err
	}
	r.n, r.err = 0, nil
	if err := r.raw.Read(r.attempt); err != nil {
		return nil, err
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.buf[:r.n], nil
}

// try is one attempt; false means to wait until the socket is readable.
func (r *readiness) try(fd uintptr) bool {
	r.buf = r.buffers.get()
	for {
		n, err := syscall.Read(int(fd), r.buf[:])
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			r.free()
			return false
		case err != nil:
			r.err = err
		case n == 0:
			r.err = io.EOF
		}
		if r.n = n; r.err != nil {
			r.free()
		}
		return true
	}
}

// free gives the buffer back.
func (r *readiness) free() {
	if r.buf != nil {
		r.buffers.put(r.buf)
		r.buf = nil
	}
}

// closedByPeer reports whether an idle connection has ended, or holds bytes that nobody asked for.
func (r *readiness) closedByPeer() bool {
	if r.nc != nil {
		return false // not known before the next read
	}
	if r.raw == nil {
		return true
	}
	quiet := false
	err := r.raw.Read(func(fd uintptr) bool {
		var one [1]byte
		_, err := syscall.Read(int(fd), one[:])
		quiet = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err != nil || !quiet
}
