package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// pool sends requests over connections that it opens as they are needed.
type pool interface {
	// do sends a request; the answer is told what comes of it, from another goroutine.
	do(req *encoded, a answer)
	// cancel makes an answer fail that waits in the pool and has not begun.
	canceller
	// close ends every connection and every goroutine of the pool. Answers that had
	// not ended fail as Cancelled.
	close()
}

// dialsAtOnce bounds the dials under way: below the smallest backlog that servers
// have by default (128), or the kernel drops handshakes and repeats them a second later.
const dialsAtOnce = 96

func newPool(r *portableRun, streams, dials int) pool {
	d := newDialer(r, dials)
	if r.plan.multiplexed() {
		return newH2Pool(d, r.plan.Limits.FirstEvent, streams)
	}
	return newH1Pool(d)
}

// dialer opens connections, a bounded number at a time.
type dialer struct {
	addr  string
	tls   *tls.Config
	limit time.Duration
	now   func() time.Duration
	slots chan struct{}
	ctx   context.Context // of all dials
	stop  context.CancelFunc

	sources []netip.Addr // used in turns
	dialled atomic.Uint64
}

func newDialer(r *portableRun, dials int) *dialer {
	d := &dialer{addr: r.plan.Addr, tls: r.plan.TLS, limit: r.plan.Limits.Connect, now: r.now, slots: make(chan struct{}, dials)}
	d.sources = r.plan.Sources
	d.ctx, d.stop = context.WithCancel(context.Background())
	return d
}

// acquire waits for a turn to dial; false means that the pool closes.
func (d *dialer) acquire() bool {
	select {
	case d.slots <- struct{}{}:
		return true
	case <-d.ctx.Done():
		return false
	}
}

func (d *dialer) release() { <-d.slots }

// dial opens a connection. It runs in a goroutine of its own, because dialling
// grows a stack for good, and a reader should have a small one.
func (d *dialer) dial() (net.Conn, *failure) {
	type dialled struct {
		conn net.Conn
		err  error
	}
	done := make(chan dialled, 1)
	go func() {
		c, err := d.connect()
		done <- dialled{c, err}
	}()
	r := <-done
	if r.err != nil {
		return nil, d.failure(r.err)
	}
	return r.conn, nil
}

// connect opens a connection, and shakes hands where there is TLS.
func (d *dialer) connect() (net.Conn, error) {
	nd := net.Dialer{KeepAlive: -1} // streams are watched by their events
	if n := len(d.sources); n > 0 {
		source := d.sources[(d.dialled.Add(1)-1)%uint64(n)]
		nd.LocalAddr, nd.Control = net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0)), latePort
	}
	ctx, stop := context.WithTimeout(d.ctx, d.limit)
	defer stop()
	c, err := nd.DialContext(ctx, "tcp", d.addr)
	if err != nil || d.tls == nil {
		return c, err
	}
	secure := tls.Client(c, d.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	if got := secure.ConnectionState().NegotiatedProtocol; slices.Contains(d.tls.NextProtos, "h2") && got != "h2" {
		_ = c.Close()
		return nil, errNoH2
	}
	return secure, nil
}

// errNoH2 says that ALPN did not choose HTTP/2.
var errNoH2 = errors.New("the gateway does not choose h2 by ALPN")

// failure sorts the errors of dialling.
func (d *dialer) failure(err error) *failure {
	var untrusted *tls.CertificateVerificationError
	var notTLS tls.RecordHeaderError
	switch {
	case d.ctx.Err() != nil:
		return gaveUp()
	case errors.As(err, &untrusted), errors.As(err, &notTLS), errors.Is(err, errNoH2):
		return &failure{outcome: ServerError, refused: true, detail: err.Error()}
	case errors.Is(err, io.EOF):
		return &failure{outcome: Reset, detail: "the connection was closed inside the TLS handshake"}
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.ENOBUFS):
		return &failure{outcome: Blocked, detail: "this machine can open no more connections: " + reason(err)}
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return &failure{outcome: ConnectTimeout, detail: fmt.Sprintf("no connection within %v", d.limit)}
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
		return &failure{outcome: Reset, detail: "the connection was refused: " + reason(err)}
	}
	return &failure{outcome: ConnectTimeout, detail: "no connection: " + reason(err)}
}

// reason is the innermost error, which says it without addresses, so that equal
// failures have equal messages.
func reason(err error) string {
	var sys syscall.Errno
	if errors.As(err, &sys) {
		return sys.Error()
	}
	return err.Error()
}

// gaveUp is why an answer fails whose pool closes.
func gaveUp() *failure {
	return &failure{outcome: Cancelled, detail: "the driver closed the connection"}
}

// broken sorts the errors of reading and writing a connection.
func broken(err error, where string) *failure {
	if errors.Is(err, net.ErrClosed) {
		return gaveUp()
	}
	return &failure{outcome: Reset, detail: reason(err) + " " + where}
}

// buffers lets read buffers be used again: one is taken when a connection is readable and
// given back when its bytes were decoded.
type buffers struct{ pool sync.Pool }

// bufferSize is what is read at once: many events of a busy connection.
const bufferSize = 16 << 10

func (b *buffers) get() *[bufferSize]byte {
	if p, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return p
	}
	return new([bufferSize]byte)
}

func (b *buffers) put(p *[bufferSize]byte) { b.pool.Put(p) }
