package attach

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/crash"
)

// pulse notes when bytes came.
type pulse struct {
	now  func() time.Time
	last atomic.Int64 // UnixNano
}

func (p *pulse) beat() { p.last.Store(p.now().UnixNano()) }

// silent reports whether nothing has come for so long that the connection counts as cut. waits is since when (UnixNano)
// the session has waited for bytes, 0 if it does not: what it has not read yet is no silence of the gateway.
func (p *pulse) silent(waits int64) bool {
	now := p.now().UnixNano()
	return waits != 0 && now-p.last.Load() >= int64(silence) && now-waits >= int64(silence)
}

// The bounds of the bytes that wait to be sent on a connection. Input waits while more than
// roomForInput are there; the rest is for pongs, signals, sizes and the close, which therefore never
// wait for a command that does not read its input.
const (
	roomForInput = 64 << 10
	roomForAll   = 1 << 20
)

// conn is a connection that notes when bytes come, and whose Write does not wait for the peer as long
// as there is room.
type conn struct {
	net.Conn
	pulse *pulse

	mu      sync.Mutex
	queue   []byte
	err     error         // of a write, or net.ErrClosed
	changed chan struct{} // closed at the next change
}

func newConn(c net.Conn, p *pulse) *conn {
	p.beat()
	w := &conn{Conn: c, pulse: p, changed: make(chan struct{})}
	crash.Go(w.pump)
	return w
}

// Read reads from the connection.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.pulse.beat()
	}
	return n, err
}

// Write queues p. A failure to send it is reported by a later call.
func (c *conn) Write(p []byte) (int, error) {
	if err := c.room(context.Background(), roomForAll); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, p...)
	c.moved()
	return len(p), nil
}

// Close closes the connection.
func (c *conn) Close() error {
	c.fail(net.ErrClosed)
	return c.Conn.Close()
}

// room waits until less than limit bytes wait to be sent.
func (c *conn) room(ctx context.Context, limit int) error {
	for {
		c.mu.Lock()
		err, waiting, changed := c.err, len(c.queue), c.changed
		c.mu.Unlock()
		switch {
		case err != nil:
			return err
		case waiting < limit:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pump sends what is queued, in order.
func (c *conn) pump() {
	for {
		c.mu.Lock()
		next, err, changed := c.queue, c.err, c.changed
		c.mu.Unlock()
		switch {
		case err != nil:
			return
		case len(next) == 0:
			<-changed
			continue
		}
		n, err := c.Conn.Write(next)
		c.mu.Lock()
		c.queue = append(c.queue[:0:0], c.queue[n:]...)
		c.moved()
		c.mu.Unlock()
		if err != nil {
			c.fail(err)
		}
	}
}

// fail ends sending.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	c.moved()
}

// moved wakes all who wait. Called with mu held.
func (c *conn) moved() {
	close(c.changed)
	c.changed = make(chan struct{})
}
