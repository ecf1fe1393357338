package stdio

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"assay/internal/base/crash"
	"assay/internal/wire"
)

// lingerLimit is how long a closed connection waits for a client that takes nothing of what was written, and then for its end.
const lingerLimit = 30 * time.Second

// calmConn is a connection whose writes never wait for the client: they wait in memory, and who writes data waits for room first. A pong and a Close frame
// therefore need no deadline, which a slow reader would miss. A closed calmConn sends what waits and reads until the client is done too: a connection
// that is closed over unread input is reset, and the client loses the end of the output.
type calmConn struct {
	net.Conn
	heard atomic.Bool   // something was read since the last look
	ended chan struct{} // closed when the connection is

	reading sync.Mutex // held by a Read

	mu      sync.Mutex
	waiting []byte
	busy    int // bytes that are being written
	err     error
	closed  bool
	rest    uint64        // bytes of the frame under way that have not been queued
	changed chan struct{} // closed at the next change; nil while nobody waits
	work    chan struct{} // holds a token when there may be something to write
}

// newCalmConn takes over a connection.
func newCalmConn(c net.Conn) *calmConn {
	calm := &calmConn{Conn: c, ended: make(chan struct{}), work: make(chan struct{}, 1)}
	crash.Go(calm.run)
	return calm
}

// Read reads from the client.
func (c *calmConn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.isClosed() {
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.heard.Store(true)
	}
	return n, err
}

// Write queues p.
func (c *calmConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return 0, c.err
	case c.closed:
		return 0, net.ErrClosed
	}
	c.waiting = append(c.waiting, c.legal(p)...)
	c.wake()
	return len(p), nil
}

// legal returns p, which is at most one frame or a piece of one, without a reason of a Close that is not UTF-8: the library repeats that of the client.
// Called with mu held.
func (c *calmConn) legal(p []byte) []byte {
	if c.rest > 0 {
		c.rest -= min(c.rest, uint64(len(p)))
		return p
	}
	h, n := wire.ParseWSHead(p)
	if whole := uint64(n) + h.Length; whole != uint64(len(p)) {
		c.rest = whole - min(whole, uint64(len(p)))
		return p
	}
	if _, reason, coded := wire.ParseWSClose(p[n:]); h.Opcode == wire.WSClose && coded && !utf8.Valid(reason) {
		return wire.AppendWSServer(nil, wire.WSClose, wire.AppendWSClose(nil, uint16(websocket.StatusInvalidFramePayloadData), ""))
	}
	return p
}

// Close ends reading at once and returns; what waits is still sent.
func (c *calmConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	_ = c.SetWriteDeadline(time.Now().Add(lingerLimit)) // the connection may be broken
	_ = c.SetReadDeadline(time.Unix(1, 0))
	c.wake()
	return nil
}

// abort closes the connection at once and drops what waits.
func (c *calmConn) abort() { c.fail(net.ErrClosed) }

// backlog returns the number of bytes that wait.
func (c *calmConn) backlog() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting) + c.busy
}

// room waits until at most limit bytes wait. It returns false when the connection is broken, or quit is closed first.
func (c *calmConn) room(limit int, quit <-chan struct{}) bool {
	for {
		c.mu.Lock()
		broken, fits := c.err != nil, len(c.waiting)+c.busy <= limit
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mu.Unlock()
		if broken || fits {
			return !broken
		}
		select {
		case <-changed:
		case <-quit:
			return false
		}
	}
}

func (c *calmConn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed || c.err != nil
}

// wake tells run that there is work. Called with mu held.
func (c *calmConn) wake() {
	select {
	case c.work <- struct{}{}:
	default:
	}
}

// moved wakes those who wait for room. Called with mu held.
func (c *calmConn) moved() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// fail breaks the connection.
func (c *calmConn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	c.waiting, c.busy = nil, 0
	_ = c.Conn.Close()
	c.moved()
	c.wake()
}

// run writes what waits until the connection is closed or broken.
func (c *calmConn) run() {
	defer close(c.ended)
	var spare []byte // never the buffer that others append to
	for {
		batch, over, err := c.take(spare)
		spare = batch
		switch {
		case err != nil:
			return
		case len(batch) > 0:
			c.put(batch)
		case over:
			c.linger()
			return
		default:
			<-c.work
		}
	}
}

// take takes what waits; spare becomes the next buffer.
func (c *calmConn) take(spare []byte) (batch []byte, over bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch, c.waiting = c.waiting, spare[:0]
	c.busy = len(batch)
	return batch, c.closed, c.err
}

// pieceSize is the size of one write: those who wait for room hear of each.
const pieceSize = 16 << 10

// put writes a batch.
func (c *calmConn) put(batch []byte) {
	for len(batch) > 0 {
		n, err := c.Conn.Write(batch[:min(len(batch), pieceSize)])
		if err != nil {
			c.fail(err)
			return
		}
		batch = batch[n:]
		c.mu.Lock()
		c.busy = max(0, c.busy-n)
		if c.closed {
			_ = c.SetWriteDeadline(time.Now().Add(lingerLimit))
		}
		c.moved()
		c.mu.Unlock()
	}
}

// linger tells the client that nothing follows, and waits until it closes the connection.
func (c *calmConn) linger() {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok && w.CloseWrite() == nil {
		c.reading.Lock() // the last Read has returned; a later one does not reach the connection
		_ = c.SetReadDeadline(time.Now().Add(lingerLimit))
		c.reading.Unlock()
		_, _ = io.Copy(io.Discard, c.Conn) // ends with the client or the deadline
	}
	c.abort()
}

// hijacker is a response writer that hands out a calmConn.
type hijacker struct {
	http.ResponseWriter
	conn *calmConn
}

// Hijack takes over the connection.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = newCalmConn(c)
	return h.conn, bufio.NewReadWriter(rw.Reader, bufio.NewWriter(h.conn)), nil
}
