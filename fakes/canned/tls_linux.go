package canned

import (
	"crypto/tls"
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"assay/internal/tlsloop"
)

// shakes are the TLS handshakes of a loop.
type shakes struct {
	config  *tls.Config // nil: no TLS
	plain   []byte      // what the present read holds
	running sync.WaitGroup

	mu   sync.Mutex
	done []shaken
}

// shaken is a connection whose handshake has ended.
type shaken struct {
	conn *conn
	err  error
}

// secure begins the handshake of a new connection.
func (l *loop) secure(c *conn) {
	c.tls, c.shaking = tlsloop.Server(int32(c.fd), send, l.shakes.config), true
	l.shakes.running.Add(1)
	c.tls.Handshake(func(_ tls.ConnectionState, err error) {
		defer l.shakes.running.Done()
		l.shakes.mu.Lock()
		l.shakes.done = append(l.shakes.done, shaken{c, err})
		l.shakes.mu.Unlock()
		signal(l.wake)
	})
}

// settle continues with the connections whose handshakes have ended.
func (l *loop) settle() {
	var count [8]byte
	_, _ = unix.Read(l.wake, count[:])
	l.shakes.mu.Lock()
	done := l.shakes.done
	l.shakes.done = nil
	l.shakes.mu.Unlock()
	for _, h := range done {
		switch c := h.conn; {
		case c.closed:
		case h.err != nil:
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
