package authproxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// channel is what a request and its response go through, or the connection that the handler took over from them.
type channel struct {
	limits    Limits
	leave     func()
	writer    http.ResponseWriter
	cancel    context.CancelFunc // ends the request
	websocket bool               // the client asks for one
	idle      idle

	mu      sync.Mutex
	taken   *conn // the connection, once a handler took it over
	expired bool
	over    bool // the handler has returned
}

// isWebSocket reports whether a request asks for a WebSocket.
func isWebSocket(r *http.Request) bool {
	return r.ProtoMajor == 1 && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// past is a deadline that is over.
func past() time.Time { return time.Unix(1, 0) }

// expire ends what has been idle.
func (c *channel) expire() {
	if taken := c.expireRequest(); taken != nil {
		taken.expire()
	}
}

// expireRequest ends the request, or returns the connection that was taken over from it. A timer that has fired is not waited for,
// and a ResponseWriter of HTTP/2 panics once its handler has returned.
func (c *channel) expireRequest() (taken *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expired = true
	if c.taken != nil || c.over {
		return c.taken
	}
	c.cancel()
	control := http.NewResponseController(c.writer) // a handler that reads or writes ends too
	_ = control.SetReadDeadline(past())
	_ = control.SetWriteDeadline(past())
	return nil
}

// abortIfIdle ends the connection instead of the response, so that the client does not take what it has for the whole.
func (c *channel) abortIfIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.expired && c.taken == nil {
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http provides no other way
	}
}

// end ends the channel of a handler that has returned, unless it has taken the connection over.
func (c *channel) end() {
	c.mu.Lock()
	c.over = true
	taken := c.taken != nil
	c.mu.Unlock()
	if !taken {
		c.idle.stop()
		c.leave()
	}
}

// response returns the writer for the handler. Only if the connection can be taken over, it is a Hijacker.
func (c *channel) response(ctx context.Context) http.ResponseWriter {
	w := &response{ResponseWriter: c.writer, channel: c, ctx: ctx, throttle: newThrottle(c.limits.BytesPerSecond)}
	if _, ok := c.writer.(http.Hijacker); ok {
		return hijackable{w}
	}
	return w
}

// response counts and delays the bytes of a response.
type response struct {
	http.ResponseWriter

	channel  *channel
	ctx      context.Context
	throttle *throttle
}

// Write writes to the client.
func (w *response) Write(p []byte) (int, error) {
	return w.throttle.write(w.ctx, p, func(p []byte) (int, error) {
		n, err := w.ResponseWriter.Write(p)
		w.channel.idle.moved(n)
		if err == nil && w.throttle != nil {
			w.Flush()
		}
		return n, err
	})
}

// Flush sends what was written. The next write finds out whether the client has gone.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError sends what was written.
func (w *response) FlushError() error { return http.NewResponseController(w.ResponseWriter).Flush() }

// Unwrap returns the writer inside, for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// hijackable is a response whose connection can be taken over.
type hijackable struct{ *response }

// Hijack gives the connection to the handler, with the limits around it.
func (w hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	raw, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	c := w.channel
	early, err := rw.Peek(rw.Reader.Buffered()) // what the server has read already
	if err != nil {
		return nil, nil, errors.Join(err, raw.Close())
	}
	taken := newConn(raw, c)
	taken.early = bytes.Clone(early)
	c.mu.Lock()
	c.taken = taken
	expired := c.expired
	c.mu.Unlock()
	if expired {
		taken.expire()
	}
	return taken, bufio.NewReadWriter(bufio.NewReader(taken), bufio.NewWriter(taken)), nil
}
