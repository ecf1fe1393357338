package authproxy

import (
	"context"
	"net"
	"sync"
	"time"
)

// closeTimeout limits the write of the last frame to a client that may read nothing.
const closeTimeout = time.Second

// closeIdle is the Close frame of an idle WebSocket: 1001, going away.
var closeIdle = append([]byte{0x88, 6, 0x03, 0xe9}, "idle"...)

// conn is a connection that a handler took over. It counts its bytes, delays those to the client, and ends when it is idle.
type conn struct {
	net.Conn

	channel  *channel
	throttle *throttle
	ctx      context.Context // ends when the connection is closed
	closed   context.CancelFunc
	once     sync.Once
	closeErr error
	early    []byte // from the client, before the connection was taken over

	writing sync.Mutex // held during a write to the client
	frames  frames     // what was written
}

func newConn(raw net.Conn, c *channel) *conn {
	out := &conn{Conn: raw, channel: c, throttle: newThrottle(c.limits.BytesPerSecond)}
	out.ctx, out.closed = context.WithCancel(context.Background())
	return out
}

// Read reads from the client.
func (c *conn) Read(p []byte) (n int, err error) {
	if len(c.early) > 0 {
		n = copy(p, c.early)
		c.early = c.early[n:]
	} else {
		n, err = c.Conn.Read(p)
	}
	c.channel.idle.moved(n)
	return n, err
}

// Write writes to the client.
func (c *conn) Write(p []byte) (int, error) {
	return c.throttle.write(c.ctx, p, func(p []byte) (int, error) {
		c.writing.Lock()
		defer c.writing.Unlock()
		n, err := c.Conn.Write(p)
		c.frames.wrote(p[:n])
		c.channel.idle.moved(n)
		return n, err
	})
}

// CloseWrite tells the client that nothing follows.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close closes the connection, which ends it for the limits. It is idempotent.
func (c *conn) Close() error {
	c.once.Do(func() {
		c.channel.idle.stop()
		c.closed()
		c.closeErr = c.Conn.Close()
		c.channel.leave()
	})
	return c.closeErr
}

// expire closes an idle connection, a WebSocket with a Close frame, unless a frame is under way.
func (c *conn) expire() {
	if c.channel.websocket && c.writing.TryLock() {
		if c.frames.between() {
			_ = c.SetWriteDeadline(time.Now().Add(closeTimeout))
			_, _ = c.Conn.Write(closeIdle)
		}
		c.writing.Unlock()
	}
	_ = c.Close()
}
