//go:build linux && (amd64 || arm64)

package fast

import (
	"crypto/tls"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/load/account"
	"assay/internal/tlsloop"
)

// shakes are the TLS handshakes of a loop.
type shakes struct {
	config  *tls.Config // nil: no TLS
	running sync.WaitGroup
	open    int // handshakes that settle has not seen the end of

	mu   sync.Mutex
	done []shaken
}

// shaken is the result of a handshake.
type shaken struct {
	key     uint64 // of the connection
	err     error
	took    time.Duration
	resumed bool
}

// secure begins the TLS handshake of a connection with this key.
func (l *loop) secure(fd int32, k uint64) *tlsloop.Conn {
	begun := l.clock.now()
	t := tlsloop.Client(fd, sendTLS, l.shakes.config)
	l.shakes.running.Add(1)
	l.shakes.open++
	t.Handshake(func(state tls.ConnectionState, err error) {
		defer l.shakes.running.Done()
		if err == nil && l.plan.Multiplexed() && state.NegotiatedProtocol != "h2" {
			err = account.ErrNoH2
		}
		h := shaken{key: k, err: err, took: time.Duration(l.clock.now() - begun), resumed: state.DidResume}
		l.shakes.mu.Lock()
		l.shakes.done = append(l.shakes.done, h)
		l.shakes.mu.Unlock()
		l.Wake()
	})
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
	l.shakes.mu.Lock()
	done := l.shakes.done
	l.shakes.done = nil
	l.shakes.mu.Unlock()
	l.shakes.open -= len(done)
	for _, h := range done {
		id, gen := uint32(h.key), uint32(h.key>>32)
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
	if h.err != nil {
		return nil, account.Handshake(h.err, l.plan.Limits.Connect)
	}
	l.streams.Secured(h.took, h.resumed)
	l.again = append(l.again, h.key)
	return t.Settle(), nil
}
