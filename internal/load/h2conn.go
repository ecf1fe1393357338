package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/transport"
)

const (
	// h2Window is how much of a stream the other side may send unacknowledged, and
	// h2ConnWindow how much of all streams together: so much that a reader that is
	// woken late never makes the gateway wait.
	h2Window     = 1 << 20
	h2ConnWindow = 1 << 30
	// h2LastID ends the use of a connection before stream ids run out.
	h2LastID = 1 << 30
	// h2WriteTimeout bounds one write: the other side has stopped reading.
	h2WriteTimeout = 10 * time.Second
)

// h2Conn is one HTTP/2 connection: a reader that demultiplexes, and a writer that
// sends what has gathered in one go.
type h2Conn struct {
	pool  *h2Pool
	nc    net.Conn
	in    *http2.Framer
	most  atomic.Int64 // streams that the other side allows
	taken int          // streams that the pool has given; under pool.mu

	mu      sync.Mutex
	streams map[uint32]*h2Stream
	nextID  uint32
	peer    flow // what the other side lets us send
	table   transport.FieldTable
	unacked int // DATA of all streams that was not acknowledged
	out     []byte
	ended   int      // streams that ended since the reader last told the pool
	why     *failure // set: no more streams
	unsent  *failure // why the writer ended
	wake    chan struct{}
	gone    chan struct{} // closed with the connection
	once    sync.Once
	now     time.Duration
}

// h2Stream is one stream of a connection.
type h2Stream struct {
	conn    *h2Conn
	id      uint32
	a       answer
	window  int64  // what the other side lets us send
	body    []byte // not sent yet
	unacked int
	headed  bool
}

// flow is the other side's flow control.
type flow struct {
	window  int64 // of the connection
	initial int64 // of a new stream
	pending []*h2Stream
}

// shakeHands sends the preface and waits for the other side's.
func shakeHands(p *h2Pool, nc net.Conn) (*h2Conn, *failure) {
	c := &h2Conn{
		pool: p, nc: nc, streams: map[uint32]*h2Stream{}, nextID: 1,
		peer: flow{window: 65535, initial: 65535},
		wake: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	c.most.Store(1 << 31)
	c.in = http2.NewFramer(io.Discard, bufio.NewReaderSize(nc, 32<<10))
	c.in.SetReuseFrames()
	c.in.SetMaxReadFrameSize(h2MaxFrame)
	c.in.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.in.MaxHeaderListSize = 64 << 10
	c.out = append(c.out, http2.ClientPreface...)
	c.out = appendSettings(c.out)
	c.out = appendWindowUpdate(c.out, 0, h2ConnWindow-65535)
	p.wg.Add(1)
	go c.write()
	c.poke()

	defer context.AfterFunc(p.dialer.ctx, c.hangUp)()
	stop := time.AfterFunc(p.handshake, func() { _ = nc.SetReadDeadline(time.Unix(1, 0)) })
	defer stop.Stop()
	f, err := c.in.ReadFrame()
	settings, ok := f.(*http2.SettingsFrame)
	switch {
	case err == nil && ok && !settings.IsAck():
		c.mu.Lock()
		fail := c.settings(settings)
		c.mu.Unlock()
		if fail == nil {
			c.poke()
			return c, nil
		}
		c.hangUp()
		return nil, fail
	case err == nil:
		err = errors.New("the first frame is not SETTINGS")
	}
	c.hangUp()
	return nil, c.noHandshake(err)
}

// noHandshake says why there are no SETTINGS.
func (c *h2Conn) noHandshake(err error) *failure {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return &failure{outcome: AcceptStall, detail: fmt.Sprintf("the connection was accepted, and no SETTINGS came within %v", c.pool.handshake)}
	case errors.Is(err, net.ErrClosed):
		return c.closedByUs()
	case isConnectionEnd(err):
		return &failure{outcome: Reset, detail: "the connection was closed instead of SETTINGS: does the gateway speak HTTP/2 without TLS?"}
	}
	return &failure{outcome: ServerError, refused: true, detail: "no HTTP/2: " + err.Error()}
}

// closedByUs says why this side closed the connection: its writer found it broken, or
// the pool closes.
func (c *h2Conn) closedByUs() *failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unsent != nil {
		return c.unsent
	}
	return gaveUp()
}

// isConnectionEnd reports whether an error of the Framer is that of the connection.
func isConnectionEnd(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op)
}

// limit is how many streams the pool may give.
func (c *h2Conn) limit() int { return int(c.most.Load()) }

// begin opens a stream.
func (c *h2Conn) begin(job h2Job) {
	c.mu.Lock()
	if c.why != nil {
		f := c.why
		c.mu.Unlock()
		job.a.fail(f, c.pool.dialer.now())
		c.pool.freed(c, 1)
		return
	}
	st := &h2Stream{conn: c, id: c.nextID, a: job.a, window: c.peer.initial, body: job.req.body}
	job.a.heard() // the handshake was
	if !job.a.begin(st) {
		c.mu.Unlock()
		job.a.fail(gaveUp(), c.pool.dialer.now())
		c.pool.freed(c, 1)
		return
	}
	c.nextID += 2
	c.streams[st.id] = st
	c.out = appendHeaders(c.out, st.id, c.table.Block(job.req.block), len(st.body) == 0)
	c.send(st)
	retire := c.nextID > h2LastID
	job.a.sent(c.pool.dialer.now())
	c.mu.Unlock()
	c.poke()
	if retire {
		c.most.Store(0)
	}
}

// send sends as much of a stream's body as the other side lets us. It needs mu.
func (c *h2Conn) send(st *h2Stream) {
	for len(st.body) > 0 {
		n := min(int64(len(st.body)), st.window, c.peer.window, h2MaxFrame)
		if n <= 0 {
			c.peer.pending = append(c.peer.pending, st)
			return
		}
		rest := st.body[n:]
		c.out = appendData(c.out, st.id, st.body[:n], len(rest) == 0)
		st.body = rest
		st.window -= n
		c.peer.window -= n
	}
}

// resume sends what had to wait for a window. It needs mu.
func (c *h2Conn) resume() {
	waiting := c.peer.pending
	c.peer.pending = nil
	for _, st := range waiting {
		if c.streams[st.id] == st {
			c.send(st)
		}
	}
}

// write writes what gathers in out.
func (c *h2Conn) write() {
	defer c.pool.wg.Done()
	var spare []byte
	for {
		select {
		case <-c.wake:
		case <-c.gone:
			return
		}
		c.mu.Lock()
		p := c.out
		c.out = spare[:0]
		c.mu.Unlock()
		if len(p) > 0 {
			_ = c.nc.SetWriteDeadline(time.Now().Add(h2WriteTimeout))
			if _, err := c.nc.Write(p); err != nil {
				c.mu.Lock()
				c.unsent = broken(err, "while requests were sent")
				c.mu.Unlock()
				c.hangUp() // the reader finds out, and tells the streams
				return
			}
		}
		if spare = p; cap(spare) > 1<<20 {
			spare = nil
		}
	}
}

// poke wakes the writer.
func (c *h2Conn) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// read demultiplexes until the connection ends.
func (c *h2Conn) read() {
	for {
		f, err := c.in.ReadFrame()
		now := c.pool.dialer.now()
		c.mu.Lock()
		c.now = now
		fail := c.take(f, err)
		n, wake := c.ended, len(c.out) > 0
		c.ended = 0
		c.mu.Unlock()
		if wake {
			c.poke()
		}
		if n > 0 {
			c.pool.freed(c, n)
		}
		if fail != nil {
			c.die(fail)
			return
		}
	}
}

// die ends the connection and every stream on it.
func (c *h2Conn) die(f *failure) {
	c.hangUp()
	c.mu.Lock()
	c.why = f
	lost := c.streams
	c.streams = map[uint32]*h2Stream{}
	for _, st := range lost {
		st.a.fail(f, c.now)
	}
	c.mu.Unlock()
	c.pool.forget(c)
}

// hangUp closes the connection; the reader then ends.
func (c *h2Conn) hangUp() {
	c.once.Do(func() {
		close(c.gone)
		_ = c.nc.Close()
	})
}

// cancel resets the stream.
func (st *h2Stream) cancel(a answer, f *failure) {
	c := st.conn
	c.mu.Lock()
	found := c.streams[st.id] == st && st.a == a
	if found {
		c.out = appendReset(c.out, st.id, http2.ErrCodeCancel)
		delete(c.streams, st.id)
		a.fail(f, c.pool.dialer.now())
	}
	c.mu.Unlock()
	if found {
		c.poke()
		c.pool.freed(c, 1)
	}
}
