package portable

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http2"

	"assay/internal/base/machine"
	"assay/internal/load"
	"assay/internal/load/account"
	"assay/internal/record/bundle"
)

// conn is one connection.
type conn struct {
	socket      *socket
	client      *http.ClientConn
	multiplexed bool
	open        int  // exchanges in progress
	used        bool // a request was sent on it, and is over
}

// unused reports whether no request was ever sent on the connection.
func (c *conn) unused() bool { return c.open == 0 && !c.used }

// begin notes that an exchange begins.
func (c *conn) begin(x *exchange) {
	c.open++
	if c.multiplexed {
		x.s.Heard() // the handshake had bytes
		return
	}
	c.socket.heard.Store(false)
	c.socket.exchange.Store(x)
}

// end notes that an exchange is over.
func (c *conn) end() { c.open-- }

// close closes the connection. The client no longer owns one that has switched protocols.
func (c *conn) close() {
	_ = c.client.Close()
	_ = c.socket.Close()
}

// failure converts the error of an exchange.
func (c *conn) failure(err error) *account.Failure {
	heard, ended := c.socket.heard.Load(), c.socket.ended.Load()
	if ended != nil {
		if f := account.BrokenTLS(*ended); f != nil {
			return f
		}
	}
	if c.multiplexed {
		return c.failureH2(err)
	}
	switch {
	case c.socket.unsent.Load() != nil:
		return account.Broken(*c.socket.unsent.Load(), account.WhileSending)
	case ended == nil: // the response is wrong
		text := strings.TrimPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken: ")
		if strings.HasPrefix(text, "malformed HTTP ") {
			return account.NoHTTP(load.HTTP11, text)
		}
		return account.Breach("%s", text)
	case errors.Is(*ended, io.EOF):
		return account.Closed(heard, false)
	case heard:
		return account.Broken(*ended, account.InsideAnswer)
	}
	return account.Broken(*ended, account.BeforeAnswer)
}

// fromPeer is the cause in a StreamError after RST_STREAM. unusable is the end of the error
// text of a request that was not sent because its connection had ended.
const (
	fromPeer = "received from peer"
	unusable = "client connection not usable"
)

func (c *conn) failureH2(err error) *account.Failure {
	var stream http2.StreamError // errors.As converts net/http's own type
	ended := c.socket.ended.Load()
	switch {
	case errors.As(err, &stream) && stream.Cause != nil && stream.Cause.Error() == fromPeer:
		return account.ResetStream(stream.Code)
	case errors.As(err, &stream):
		if stream.Cause == nil {
			return account.Breach("the frame breaks HTTP/2: %v", stream.Code)
		}
		return account.Breach("the frame breaks HTTP/2: %v: %v", stream.Code, stream.Cause)
	case strings.Contains(err.Error(), "GOAWAY"):
		return &account.Failure{Outcome: bundle.StreamReset, Detail: err.Error()}
	case ended != nil && machine.Exhausted(*ended):
		return account.Broken(*ended, account.InsideAnswer)
	case ended != nil:
		return account.ClosedH2((*ended).Error())
	}
	return account.Breach("the connection breaks HTTP/2: %v", err)
}

// isUnusable reports whether a request was not sent because its connection had ended.
func isUnusable(err error) bool { return strings.HasSuffix(err.Error(), unusable) }

// socket is a connection that records facts that the clients do not report.
type socket struct {
	net.Conn

	driver   *driver
	exchange atomic.Pointer[exchange] // HTTP/1.1: the exchange whose response is read
	heard    atomic.Bool              // bytes came since the request
	ended    atomic.Pointer[error]    // the error that ended reading
	unsent   atomic.Pointer[error]    // the error that ended writing

	// HTTP/2: the header of the first frame, and a channel that closes when the client has
	// accepted the frame or the connection has ended.
	first   []byte
	greeted chan struct{}
	once    sync.Once
}

// Read reads, and notes the first bytes of a response and the end.
func (s *socket) Read(p []byte) (int, error) {
	if s.greeted != nil && len(s.first) == frameHeader {
		s.endGreeting() // the client reads on only after it has accepted the first frame
	}
	n, err := s.Conn.Read(p)
	if n > 0 && !s.heard.Swap(true) {
		s.driver.hear(s.exchange.Load())
	}
	if missing := frameHeader - len(s.first); s.greeted != nil && missing > 0 {
		s.first = append(s.first, p[:min(n, missing)]...)
	}
	if n > 0 {
		return n, nil // TLS may return the end with bytes; the client judges the bytes first
	}
	if err != nil {
		s.ended.CompareAndSwap(nil, &err)
		if s.greeted != nil {
			s.endGreeting()
		}
	}
	return n, err
}

// Write writes, and notes an error.
func (s *socket) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	if err != nil {
		s.unsent.CompareAndSwap(nil, &err)
	}
	return n, err
}

// Close closes the connection.
func (s *socket) Close() error {
	if s.greeted != nil {
		defer s.endGreeting()
	}
	return s.Conn.Close()
}

// hear notes the first bytes of a response, before the client returns the response.
func (d *driver) hear(x *exchange) {
	if x == nil {
		return
	}
	d.mu.Lock()
	if !x.over {
		x.s.Heard()
	}
	d.mu.Unlock()
}
