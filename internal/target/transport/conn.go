package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"assay/internal/record/bundle"
)

// dialTimeout bounds a dial whose context has no deadline of its own.
const dialTimeout = 10 * time.Second

// ErrEnded is wrapped by Write on a connection that we have closed or silenced.
var ErrEnded = errors.New("the connection was ended by us")

// DialError reports that a connection could not be opened. It unwraps to the cause.
type DialError struct {
	Conn int // the id of its record
	Addr string
	Err  error
}

// Error names the address and the cause.
func (e *DialError) Error() string { return fmt.Sprintf("no connection to %s: %v", e.Addr, e.Err) }

// Unwrap returns the cause.
func (e *DialError) Unwrap() error { return e.Err }

// Conn is a connection that sends exactly the given bytes and decodes all received
// bytes. HTTP/1.1 exchanges are announced with Begin and written
// with Write; HTTP/2 ones are made with Request and Data, and Write sends raw
// frames beside them. One goroutine reads; every method is safe for concurrent use.
type Conn struct {
	id       int
	recorder *Recorder
	nc       net.Conn // for reading and writing
	base     net.Conn // nc, or the connection under TLS

	writing sync.Mutex // held during one write

	mu       sync.Mutex
	proto    protocol
	meta     bundle.Conn
	sent     *store
	received *store
	account  account
	lastRead bundle.Stamp
	changed  broadcast
	steered  broadcast // fired when the reader and the control writer should check the state again

	queue  []*Exchange // without a complete response, in order
	last   *Exchange   // the latest, announced or begun by a response
	unsent int         // announced exchanges whose request is still being written
	raw    rawAnswers
	lostAt int64 // the number of received bytes when the framing was lost, else -1

	pace       pace
	rawSocket  bool // a WebSocket answers nothing by itself
	closed     bool // closed by us; the reader ends
	half       bool // we have sent FIN
	sendBroken bool // a write was cut, so that nothing can follow it (framed protocols, TLS)
	silent     bool // we neither read nor write any more
	peerClosed bool
	reset      error // a write's error for a reset by the peer
}

// newConn begins the record of a connection that is not open yet.
func newConn(rec *Recorder, name, addr string) *Conn {
	c := &Conn{
		id: rec.newID(), recorder: rec, lostAt: -1, account: account{recorder: rec},
		raw: rawAnswers{shape: bundle.ShapePlain, expected: true},
	}
	c.sent, c.received = newStore(rawLimit, rec.redact, c.account.take), newStore(rawLimit, rec.redact, c.account.take)
	c.received.framed = true
	c.meta = bundle.Conn{ID: c.id, Name: name, Remote: addr, Dialed: rec.clock.Stamp()}
	c.proto = newHTTP1(c)
	return c
}

// ID returns the id of the connection's record.
func (c *Conn) ID() int { return c.id }

// Write sends p as one write and records it. It returns when the kernel has
// accepted all of p, when ctx ends, or when the connection has ended. The written part
// of p is always recorded, stamped with the time before the write.
// After a write that belongs to no announced exchange, the next response is a raw one.
//
// On HTTP/2 p is frames, or pieces of them, and is sent between other frames:
// a whole frame should be one write. HEADERS on an unused stream begins an
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

// writeNoted writes p and records it. It requires both locks, and releases c.mu.
func (c *Conn) writeNoted(ctx context.Context, p []byte) error {
	at := c.recorder.clock.Stamp()
	c.proto.sending(p, at)
	release := c.boundWrite(ctx) // before another goroutine can end the connection
	c.mu.Unlock()

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
	if ctx.Err() != nil || c.half {
		c.sendBroken = c.proto.framed() || c.nc != c.base
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%w (%w)", ctx.Err(), err)
	}
	return fmt.Errorf("write to %s, %d of %d bytes written: %w", c.meta.Remote, n, len(p), err)
}

// boundWrite makes ctx cut a write; release waits until that can no longer happen.
func (c *Conn) boundWrite(ctx context.Context) (release func()) {
	// An error means that the socket is closed; the write will report it.
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

// Received returns the number of received bytes and the time of the last.
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

// over reports whether the connection has ended on either side.
func (c *Conn) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed || c.peerClosed || c.silent
}

// Idle reports whether the connection could carry another request: it is open
// on both sides, every exchange has a complete response, the last response
// did not announce a close, and no bytes are left over.
//
// On HTTP/2 it reports whether another stream could be opened: neither side has
// ended the connection or violated the protocol, and the peer has not sent GOAWAY.
func (c *Conn) Idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed && !c.half && !c.silent && !c.peerClosed && !c.sendBroken && c.lostAt < 0 && c.proto.idle()
}

// Changed returns a channel that is closed at the next change of the connection
// (bytes, end). Take it before reading the state.
func (c *Conn) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed.wait()
}

// record returns the record of the connection, without secrets, and describes its
// omissions; see Finish.
func (c *Conn) record() (rec bundle.Conn, dropped string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rec = c.meta
	rec.Writes, rec.Reads = c.sent.chunks, c.received.chunks
	rec.Sent = c.sent.blob(c.recorder.redact, nil)
	rec.Received = c.received.blob(c.recorder.redact, nil)
	// Writes and Reads hold the tables already.
	rec.Sent.Chunks, rec.Received.Chunks = nil, nil
	dropped = c.proto.record(&rec)
	return rec, dropped
}

// FirstBytes returns a copy of the first n received bytes, or fewer, without secrets.
func (c *Conn) FirstBytes(n int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	redact := c.recorder.redact
	p := redact.received(c.received.blind(c.received.kept[:min(len(c.received.kept), n+redact.Margin())], 0))
	return append([]byte(nil), p[:min(len(p), n)]...)
}
