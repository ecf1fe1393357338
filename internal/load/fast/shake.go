//go:build linux && (amd64 || arm64)

package fast

import (
	"crypto/tls"
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"assay/internal/base/tlsloop"
	"assay/internal/load/account"
)

// shakes are the TLS handshakes of a loop, by the keys of their connections.
type shakes struct {
	tlsloop.Handshakes[uint64]

	config *tls.Config // nil: no TLS
}

// shaken is the result of a handshake.
type shaken = tlsloop.Result[uint64]

// secure begins the TLS handshake of a connection with this key.
func (l *loop) secure(fd int32, k uint64) *tlsloop.Conn {
	t := tlsloop.Client(fd, sendTLS, l.shakes.config)
	l.shakes.Begin(t, k, l.Wake)
	return t
}

// readShake passes the bytes of a connection to its handshake.
func (l *loop) readShake(fd int32, t *tlsloop.Conn) {
	for {
		n, _, e := l.recv.read(fd)
		switch {
		case errors.Is(e, unix.EAGAIN):
			return
		case e != 0:
			t.Finish(e)
			return
		case n == 0:
			t.Finish(io.EOF)
			return
		}
		if !t.Feed(l.recv.buf[:n]) {
			return
		}
	}
}

// settle continues with the connections whose handshakes are over. A connection that the loop
// has closed meanwhile has another generation.
func (l *loop) settle() {
	for _, h := range l.shakes.Take() {
		id, gen := uint32(h.Of), uint32(h.Of>>32)
		if id&keyMux != 0 {
			if c := l.mux.find(id&^keyMux, gen); c != nil {
				c.settled(h)
			}
		} else if c := l.conns.At(int32(id)); c.gen == gen && c.state == connSecuring { //nolint:gosec // an index
			l.settled(int32(id), c, h) //nolint:gosec // an index
		}
	}
}

// over ends the handshake. It returns the bytes that came after it, and the failure if there
// is one. The rest of the socket is read again, because its events are over.
func (l *loop) over(t *tlsloop.Conn, h shaken) (early []byte, f *account.Failure) {
	if h.Err == nil && l.plan.Multiplexed() && h.State.NegotiatedProtocol != "h2" {
		h.Err = account.ErrNoH2
	}
	if h.Err != nil {
		return nil, account.Handshake(h.Err, l.plan.Limits.Connect)
	}
	l.streams.Secured(h.Took, h.State.DidResume)
	l.again = append(l.again, h.Of)
	return t.Settle(), nil
}
