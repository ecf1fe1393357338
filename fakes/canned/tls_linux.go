package canned

import (
	"crypto/tls"
	"errors"

	"golang.org/x/sys/unix"

	"assay/internal/base/tlsloop"
)

// shakes are the TLS handshakes of a loop.
type shakes struct {
	tlsloop.Handshakes[*conn]

	config *tls.Config // nil: no TLS
	plain  []byte      // what the present read holds
}

// secure begins the handshake of a new connection.
func (l *loop) secure(c *conn) {
	c.tls, c.shaking = tlsloop.Server(int32(c.fd), send, l.shakes.config), true
	l.shakes.Begin(c.tls, c, func() { signal(l.wake) })
}

// settle continues with the connections whose handshakes have ended.
func (l *loop) settle() {
	var count [8]byte
	_, _ = unix.Read(l.wake, count[:])
	for _, h := range l.shakes.Take() {
		switch c := h.Of; {
		case c.closed:
		case h.Err != nil:
			c.drop()
		default:
			c.shaking = false
			l.receivedTLS(c, c.tls.Settle())
			if !c.closed && c.tls.Pending() { // the end of the handshake
				c.flush()
			}
		}
	}
}

// receivedTLS handles the bytes of a connection over TLS.
func (l *loop) receivedTLS(c *conn, p []byte) {
	if c.shaking {
		c.tls.Feed(p) // a flood ends the handshake
		return
	}
	contents, err := c.tls.Open(l.shakes.plain[:0], p)
	if len(contents) > 0 {
		c.received(contents)
	}
	if err != nil {
		c.drop() // after a close_notify, too, as after the end of a connection in clear
	}
}

// writeTLS encrypts p; n is 0 if earlier bytes still wait for the kernel.
func writeTLS(t *tlsloop.Conn, p []byte) (n int, err error) {
	switch err := t.Write(p); {
	case err == nil:
		return len(p), nil
	case errors.Is(err, tlsloop.ErrFull):
		return 0, nil
	default:
		return 0, err
	}
}
