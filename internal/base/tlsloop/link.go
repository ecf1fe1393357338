package tlsloop

import (
	"net"
	"time"
)

// dry is the error of a Read without bytes. It is temporary, so tls.Conn can continue later.
type dry struct{}

var errDry error = dry{}

func (dry) Error() string   { return "no bytes have come" }
func (dry) Timeout() bool   { return true }
func (dry) Temporary() bool { return true }

// link is the socket of a tls.Conn.
type link struct{ *Conn }

var _ net.Conn = link{}

// Read returns bytes of the present record; without any, it returns errDry. In the handshake
// it waits for the next record.
func (k link) Read(p []byte) (int, error) {
	if k.shake != nil {
		return k.shake.read(p)
	}
	if len(k.in) == 0 {
		return 0, errDry
	}
	n := copy(p, k.in)
	k.in = k.in[n:]
	return n, nil
}

// Write writes to the socket. Bytes without room there wait for Flush.
func (k link) Write(p []byte) (int, error) {
	if k.shake != nil {
		k.shake.mu.Lock()
		defer k.shake.mu.Unlock()
		if k.shake.abandoned {
			return 0, net.ErrClosed // the descriptor may be another connection's
		}
	}
	n := 0
	if len(k.out) == 0 {
		var err error
		if n, err = k.send(k.fd, p); err != nil {
			return 0, err
		}
	}
	k.out = append(k.out, p[n:]...)
	return len(p), nil
}

// Close does nothing: the loop closes the socket.
func (link) Close() error { return nil }

// LocalAddr returns nil.
func (link) LocalAddr() net.Addr { return nil }

// RemoteAddr returns nil.
func (link) RemoteAddr() net.Addr { return nil }

// SetDeadline does nothing: the loop keeps the deadlines.
func (link) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (link) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (link) SetWriteDeadline(time.Time) error { return nil }
