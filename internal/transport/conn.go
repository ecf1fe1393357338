package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"assay/internal/bundle"
)

// dialTimeout bounds a dial whose context has no deadline of its own.
const dialTimeout = 10 * time.Second

// ErrEnded is wrapped by Write on a connection that we have closed or silenced.
var ErrEnded = errors.New("the connection was ended by us")

// DialError says that a connection could not be opened. It unwraps to the cause.
type DialError struct {
	Conn int // the id under which the attempt is recorded
	Addr string
	Err  error
}

// Error names the address and the cause.
func (e *DialError) Error() string { return fmt.Sprintf("no connection to %s: %v", e.Addr, e.Err) }

// Unwrap returns the cause.
func (e *DialError) Unwrap() error { return e.Err }

// Conn is a connection on which exactly the given bytes are sent, and whose received
// bytes are always decoded. HTTP/1.1 exchanges are announced with Begin and written
// with Write; HTTP/2 ones are made with Request and Data, and Write sends raw
// frames beside them. One goroutine reads; every method is safe for concurrent use.
type Conn struct {
	id       int
	recorder *Recorder
	nc       net.Conn // what is read and written
	base     net.Conn // nc, or the connection under TLS

	writing sync.Mutex // held during one write

	mu       sync.Mutex
	proto    protocol
	meta     bundle.Conn
	sent     *store
	received *store
	lastRead bundle.Stamp
	changed  broadcast
	steered  broadcast // fired when goroutines of the connection should look at its state again

	queue  []*Exchange // in order: without a response, or receiving it
	last   *Exchange   // the last that was announced or begun by a response
	unsent int         // announced exchanges whose request is still being written
	raw    rawAnswers
	lostAt int64 // received bytes when the framing was lost, -1 while it is not

	pace       pace
	closed     bool // closed by us; the reader ends
	half       bool // we have sent FIN
	sendBroken bool // we have cut a write, so that nothing sensible can follow it (framed protocols, TLS)
	silent     bool // we neither read nor write any more
	peerClosed bool
	reset      error // what a write was told of a reset by the peer
}

// newConn makes the record of a connection that is not open yet.
func newConn(rec *Recorder, name, addr string) *Conn {
	c := &Conn{
		id: rec.newID(), recorder: rec, lostAt: -1,
		sent: newStore(rawLimit, rec.redact), received: newStore(rawLimit, rec.redact),
		raw: rawAnswers{shape: bundle.ShapePlain, expected: true},
	}
	c.meta = bundle.Conn{ID: c.id, Name: name, Remote: addr, Dialed: rec.clock.Stamp()}
	c.proto = newHTTP1(c)
	return c
}

// ID is the id under which the connection is recorded.
func (c *Conn) ID() int { return c.id }

// Write sends p as one write and records it. It returns when the kernel has
// taken all of p, when ctx ends, or when the connection is gone; what was
// written of p is recorded in any case, stamped with the time before the write.
// A write that belongs to no announced exchange makes the next answer a raw one.
//
// On HTTP/2 p is frames, or pieces of them, and goes out between other frames:
// a whole frame should be one write. HEADERS on a stream of its own begins an
// exchange under the connection's name.
func (c *Conn) Write(ctx context.Context, p []byte) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("write to %s: %w", c.meta.Remote, err)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	if c.closed || c.silent || c.half || c.sendBroken {
		c.mu.Unlock()
		return fmt.Errorf("write to %s: %w", c.meta.Remote, ErrEnded)
	}
	c.proto.unannounced()
	return c.writeNoted(ctx, p)
}

// writeNoted writes p and records it. It is called with both locks held, and gives up c.mu.
func (c *Conn) writeNoted(ctx context.Context, p []byte) error {
	at := c.recorder.clock.Stamp()
	c.proto.sending(p, at)
	c.mu.Unlock()

	release := c.boundWrite(ctx)
	n, err := c.nc.Write(p)
	release()

	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent.add(p[:n], at)
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.ECONNRESET) {
		c.reset = err
	}
	if ctx.Err() != nil {
		c.sendBroken = c.proto.framed() || c.nc != c.base
		err = fmt.Errorf("%w (%w)", ctx.Err(), err)
	}
	return fmt.Errorf("write to %s, %d of %d bytes written: %w", c.meta.Remote, n, len(p), err)
}

// boundWrite makes the end of ctx end a write; release waits until that can no longer happen.
func (c *Conn) boundWrite(ctx context.Context) (release func()) {
	// An error here means that the socket is closed; the write will say so.
	_ = c.nc.SetWriteDeadline(time.Time{})
	if ctx.Done() == nil {
		return func() {}
	}
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(fired)
		_ = c.nc.SetWriteDeadline(time.Unix(1, 0))
	})
	return func() {
		if !stop() {
			<-fired
		}
	}
}

// Received is how many bytes came, and when the last of them came.
func (c *Conn) Received() (n int64, last bundle.Stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.received.n, c.lastRead
}

// PeerClosed reports whether the peer has ended the connection, by FIN or RST.
func (c *Conn) PeerClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peerClosed
}

// Idle reports whether the connection could carry another request: it is open
// on both sides, every exchange on it is answered completely, the last answer
// did not announce a close, and nothing is left over.
//
// On HTTP/2 it reports whether another stream could be opened: neither side has
// ended the connection or broken the protocol, and no GOAWAY came.
func (c *Conn) Idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed && !c.half && !c.silent && !c.peerClosed && !c.sendBroken && c.lostAt < 0 && c.proto.idle()
}

// Changed returns a channel that is closed at the next thing that happens on
// the connection (bytes, end). Take it before looking at the state.
func (c *Conn) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed.wait()
}

// record is the connection as it is kept, without secrets, and in words what was
// left out; see Finish.
func (c *Conn) record() (rec bundle.Conn, dropped string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rec = c.meta
	rec.Writes, rec.Reads = c.sent.chunks, c.received.chunks
	rec.Sent = c.sent.blob(c.recorder.redact, nil)
	rec.Received = c.received.blob(c.recorder.redact, nil)
	// The tables stand beside the blobs already.
	rec.Sent.Chunks, rec.Received.Chunks = nil, nil
	dropped = c.proto.record(&rec)
	return rec, dropped
}

// FirstBytes is a copy of the first n bytes that came, or fewer, without secrets.
func (c *Conn) FirstBytes(n int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	redact := c.recorder.redact
	p := redact.bytes(c.received.kept[:min(len(c.received.kept), n+redact.margin())])
	return append([]byte(nil), p[:min(len(p), n)]...)
}
