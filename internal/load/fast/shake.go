//go:build linux && (amd64 || arm64)

package fast

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/crash"
	"assay/internal/load/account"
)

// shake is the TLS handshake of a connection. It runs in a goroutine of its own, because its
// cryptography takes a millisecond of processor time, for which streams would have to wait.
// The loop reads the socket and passes the bytes; the goroutine writes to the socket.
type shake struct {
	key   uint64 // of the connection
	begun int64

	mu        sync.Mutex
	more      sync.Cond // of in and end
	in        []byte    // received and not read yet
	left      int       // the unread bytes of the present record
	end       error     // why no more bytes come
	abandoned bool      // the loop has given up the connection

	// The result, for the loop.
	err     error
	took    time.Duration
	resumed bool
}

// mostShake bounds the bytes that wait for a handshake. Its longest message has 256 KB.
const mostShake = 1 << 20

// errFlood is the error of a handshake that gets more than mostShake.
var errFlood = fmt.Errorf("tls: over %d MB came before the handshake was complete", mostShake>>20)

// read returns bytes of the present record. It waits until the record is complete.
func (h *shake) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.left == 0 {
		switch n := recordSize(h.in); {
		case h.abandoned:
			return 0, h.end
		case n > 0:
			h.left = n
		case h.end == nil:
			h.more.Wait()
		case len(h.in) == 0:
			return 0, h.end
		default:
			h.left = len(h.in)
		}
	}
	n := copy(p, h.in[:h.left])
	h.in = h.in[n:]
	h.left -= n
	return n, nil
}

// feed passes received bytes. It returns false when too many wait, which ends the handshake.
func (h *shake) feed(p []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.in = append(h.in, p...)
	h.more.Signal()
	if len(h.in) <= mostShake {
		return true
	}
	h.end, h.abandoned = errFlood, true
	return false
}

// finish says that no more bytes come.
func (h *shake) finish(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.end == nil {
		h.end = err
	}
	h.more.Signal()
}

// abandon ends the handshake. The goroutine uses the socket no more.
func (h *shake) abandon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end, h.abandoned = io.ErrClosedPipe, true
	h.more.Signal()
}

// shakes are the handshakes of a loop.
type shakes struct {
	config  *tls.Config // nil: no TLS
	running sync.WaitGroup

	mu   sync.Mutex
	done []*secure
}

// secure begins the TLS handshake of a connection with this key.
func (l *loop) secure(fd int32, k uint64) *secure {
	h := &shake{key: k, begun: l.clock.now()}
	h.more.L = &h.mu
	t := &secure{shake: h, fd: fd}
	t.conn = tls.Client(link{t}, l.shakes.config)
	l.shakes.running.Go(func() {
		defer crash.Catch()
		h.err = t.conn.HandshakeContext(context.Background()) // the loop keeps the deadline
		state := t.conn.ConnectionState()
		if h.err == nil && l.plan.Multiplexed() && state.NegotiatedProtocol != "h2" {
			h.err = account.ErrNoH2
		}
		h.resumed = state.DidResume
		h.took = time.Duration(l.clock.now() - h.begun)
		l.shakes.mu.Lock()
		l.shakes.done = append(l.shakes.done, t)
		l.shakes.mu.Unlock()
		l.Wake()
	})
	return t
}

// readShake passes the bytes of a connection to its handshake.
func (l *loop) readShake(t *secure) {
	for {
		n, _, e := l.recv.read(t.fd)
		switch {
		case errors.Is(e, unix.EAGAIN):
			return
		case e != 0:
			t.shake.finish(e)
			return
		case n == 0:
			t.shake.finish(io.EOF)
			return
		}
		if !t.shake.feed(l.recv.buf[:n]) {
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
	for _, t := range done {
		h := t.shake
		id, gen := uint32(h.key), uint32(h.key>>32)
		if id&keyMux != 0 {
			if c := l.mux.find(id&^keyMux, gen); c != nil {
				c.settled()
			}
		} else if c := l.conns.At(int32(id)); c.gen == gen && c.state == connSecuring { //nolint:gosec // an index
			l.settled(int32(id), c) //nolint:gosec // an index
		}
	}
}

// over ends the handshake. It returns the bytes that came after it, and the failure if there
// is one. The rest of the socket is read again, because its events are over.
func (l *loop) over(t *secure) (early []byte, f *account.Failure) {
	h := t.shake
	if h.err != nil {
		return nil, account.Handshake(h.err, l.plan.Limits.Connect)
	}
	t.shake = nil
	l.streams.Secured(h.took, h.resumed)
	l.again = append(l.again, h.key)
	return h.in, nil
}
