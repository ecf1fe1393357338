package tlsloop

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"

	"assay/internal/base/crash"
)

// handshake is a TLS handshake in progress. It runs in a goroutine of its own, because its
// cryptography takes a millisecond of processor time, for which the other connections would
// have to wait. The loop reads the socket and passes the bytes; the goroutine writes to the
// socket.
type handshake struct {
	mu        sync.Mutex
	more      sync.Cond // of in and end
	in        []byte    // received and not read yet
	left      int       // the unread bytes of the present record
	end       error     // why no more bytes come
	abandoned bool      // the loop has given up the connection
}

// mostShake bounds the bytes that wait for a handshake. Its longest message has 256 KB.
const mostShake = 1 << 20

// errFlood is the error of a handshake that gets more than mostShake.
var errFlood = fmt.Errorf("tls: over %d MB came before the handshake was complete", mostShake>>20)

func newHandshake() *handshake {
	h := &handshake{}
	h.more.L = &h.mu
	return h
}

func newConn(fd int32, send Send, config *tls.Config, side func(net.Conn, *tls.Config) *tls.Conn) *Conn {
	t := &Conn{shake: newHandshake(), send: send, fd: fd}
	t.conn = side(link{t}, config)
	return t
}

// Handshake begins the handshake. done gets its result, in another goroutine, unless the
// program ends before. The loop calls Feed and Finish until then, then Settle, and keeps the
// deadline: End makes the handshake fail.
func (t *Conn) Handshake(done func(state tls.ConnectionState, err error)) {
	crash.Go(func() {
		err := t.conn.HandshakeContext(context.Background())
		done(t.conn.ConnectionState(), err)
	})
}

// Feed passes received bytes to the handshake. It returns false when too many wait, which
// ends the handshake, and from then on.
func (t *Conn) Feed(p []byte) bool { return t.shake.feed(p) }

// Finish says that no more bytes come for the handshake, and why.
func (t *Conn) Finish(err error) { t.shake.finish(err) }

// Settle ends a successful handshake. It returns the bytes that came after it, which are for
// Open. The loop has to read the socket again, because earlier events are over.
func (t *Conn) Settle() (early []byte) {
	early = t.shake.in
	t.shake = nil
	return early
}

// read returns bytes of the present record. It waits until the record is complete.
func (h *handshake) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.left == 0 {
		switch n := recordSize(h.in); {
		case h.abandoned:
			return 0, h.end
		case n <= len(h.in):
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

func (h *handshake) feed(p []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.abandoned {
		return false
	}
	h.in = append(h.in, p...)
	h.more.Signal()
	if len(h.in) <= mostShake {
		return true
	}
	h.end, h.abandoned = errFlood, true
	return false
}

func (h *handshake) finish(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.end == nil {
		h.end = err
	}
	h.more.Signal()
}

// abandon ends the handshake. The goroutine uses the socket no more.
func (h *handshake) abandon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end, h.abandoned = io.ErrClosedPipe, true
	h.more.Signal()
}
