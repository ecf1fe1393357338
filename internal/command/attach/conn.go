package attach

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"assay/internal/base/crash"
)

// pulse notes when bytes came, and since when the session waits for some. Its times are in UnixNano.
type pulse struct {
	clock Clock
	last  atomic.Int64
	waits atomic.Int64 // 0: it does not wait
	mute  atomic.Bool  // the gateway was silent for too long
}

func (p *pulse) now() int64 { return p.clock.Now().UnixNano() }

func (p *pulse) beat() { p.last.Store(p.now()) }

// wait notes that the session waits, until the function that it returns is called.
func (p *pulse) wait() (over func()) {
	p.waits.Store(p.now())
	return func() { p.waits.Store(0) }
}

// silent reports whether nothing has come for so long that the connection counts as cut. What the session has not read yet
// is no silence of the gateway.
func (p *pulse) silent() bool {
	now, waits := p.now(), p.waits.Load()
	return waits != 0 && now-p.last.Load() >= int64(silence) && now-waits >= int64(silence)
}

// watch ends the connection of a gateway that is silent although it owes a sign of life, until ctx ends. It looks every
// quarter of a minute, and otherwise calls ping.
func (p *pulse) watch(ctx context.Context, end func(), owes func() bool, ping func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.clock.After(pingEvery):
			if owes() && p.silent() {
				p.mute.Store(true)
				end()
				return
			}
			ping()
		}
	}
}

// beating is a connection that notes when bytes come.
type beating struct {
	net.Conn
	pulse *pulse
}

// Read reads from the connection.
func (b beating) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if n > 0 {
		b.pulse.beat()
	}
	return n, err
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
	beating

	mu      sync.Mutex
	queue   []byte
	err     error         // of a write, or net.ErrClosed
	changed chan struct{} // closed at the next change
}

func newConn(c net.Conn, p *pulse) *conn {
	p.beat()
	w := &conn{beating: beating{c, p}, changed: make(chan struct{})}
	crash.Go(w.pump)
	return w
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
