package transport

import (
	"context"
	"errors"

	"assay/internal/bundle"
)

// protocol is what a connection speaks: it decodes what is received, notes what is
// sent, and knows the exchanges that are under way. http1 and mux implement it.
//
// A connection changes its protocol by assigning Conn.proto with the mutex held: a
// protocol that is upgraded does that inside of feed, hands the bytes behind its own
// to the next one, and leaves an empty queue. The next one embeds the old one for
// the methods that stay.
type protocol interface {
	// start begins to read, after whatever the protocol sends or awaits first.
	start(ctx context.Context)

	// The connection's mutex is held during the following.

	// feed decodes received bytes, which are recorded already.
	feed(p []byte)
	// sending notes bytes that are about to be written, so that an exchange is known
	// before its answer can come.
	sending(p []byte, at bundle.Stamp)
	// unannounced notes that the script writes bytes which may belong to no exchange.
	unannounced()
	// framed reports whether nothing can follow a write that was cut.
	framed() bool
	// congested reports whether reading has to wait until the connection is steered.
	congested() bool
	// idle reports whether another request could be sent on an open connection.
	idle() bool
	// underWay lists the exchanges that have not ended, in the order of their ids.
	underWay() []*Exchange
	// ended takes the end of the connection by the peer, ends what that completes, and
	// returns how the remaining exchanges come out.
	ended(o bundle.Outcome, detail string) (bundle.Outcome, string)
	// record adds what the protocol has recorded and returns what it left out, in words.
	record(rec *bundle.Conn) (dropped string)
	// begin takes an exchange that Begin announces.
	begin(x *Exchange)

	// The mutex is not held during these; see the methods of Conn and Exchange.

	request(ctx context.Context, call Call, end bool) (*Exchange, error)
	data(ctx context.Context, x *Exchange, p []byte, end bool) error
	cancel(x *Exchange, code uint32)
	hold(x *Exchange, on bool)
}

// speaks returns the protocol of the connection.
func (c *Conn) speaks() protocol {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proto
}

// HTTP2 reports whether the connection speaks HTTP/2.
func (c *Conn) HTTP2() bool { return c.meta.HTTP != HTTP1 }

// Begin announces an exchange of HTTP/1.1: the next response that no earlier exchange
// waits for is its response. Call it before the first byte of the request is written.
// The exchange returns at once on a connection that has ended, and on HTTP/2, where
// Request begins one.
func (c *Conn) Begin(call Call) *Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.newExchange(call)
	c.proto.begin(x)
	return x
}

// errNotH2 is returned by what only HTTP/2 has.
var errNotH2 = errors.New("the connection does not speak HTTP/2")

// Request opens a stream on an HTTP/2 connection and sends HEADERS with the
// fields in the given order: the pseudo fields are made of call.Method,
// call.Path and the field "host", which becomes :authority; names are put in lower
// case, and the fields that HTTP/2 does not have (connection, keep-alive,
// proxy-connection, transfer-encoding, upgrade) are left out. end sets END_STREAM.
//
// It waits while MAX_CONCURRENT_STREAMS is reached. The exchange is always
// recorded and never nil. When the request could not be sent there is an error
// too, and the exchange has ended with the outcome that says why: no-answer when
// ctx ended first, closed after the peer's GOAWAY or the end of the connection,
// garbage after a breach, aborted when it was us (and on HTTP/1.1).
func (c *Conn) Request(ctx context.Context, call Call, end bool) (*Exchange, error) {
	return c.speaks().request(ctx, call, end)
}

// Data sends p as DATA on the exchange's stream, in frames of at most the peer's
// limits, waiting for window; end sets END_STREAM on the last one. An empty p
// is one empty frame. It ends early with an error when ctx ends, or when the
// stream (ErrStreamEnded) or the connection (ErrEnded) has ended. HTTP/1.1 has no
// DATA: there it always returns an error.
func (x *Exchange) Data(ctx context.Context, p []byte, end bool) error {
	if x.conn == nil {
		return errNotH2
	}
	return x.conn.speaks().data(ctx, x, p, end)
}

// Cancel ends the exchange: with RST_STREAM of that code on HTTP/2 (8 is CANCEL),
// with FIN on HTTP/1.1. It is recorded as aborted by us, unless it had ended before.
func (x *Exchange) Cancel(code uint32) {
	if x.conn != nil {
		x.conn.speaks().cancel(x, code)
	}
}

// Hold stops giving window to the exchange's stream, or resumes it: a peer
// that respects flow control can then send what is left of 4 MiB, and nothing
// more, while other streams of the connection go on. It does nothing on
// HTTP/1.1, where Pause is what holds a peer back, and on a raw connection.
func (x *Exchange) Hold(on bool) {
	if x.conn != nil {
		x.conn.speaks().hold(x, on)
	}
}
