package transport

import (
	"context"
	"errors"

	"assay/internal/record/bundle"
)

// protocol is the protocol of a connection: it decodes received bytes, inspects sent
// ones, and keeps the exchanges under way. http1 and mux implement it.
//
// An upgrade replaces Conn.proto inside of feed, with the mutex held: the old protocol
// empties the queue and feeds the remaining bytes to the new one, which may embed the
// old one for the methods that stay the same.
type protocol interface {
	// start starts the connection's reader, and sends and awaits the protocol's greeting.
	start(ctx context.Context)

	// The caller holds the connection's mutex for the following methods.

	// feed decodes received bytes, which are already recorded.
	feed(p []byte)
	// sending inspects bytes before they are written, so that an exchange exists before
	// its response can arrive.
	sending(p []byte, at bundle.Stamp)
	// unannounced is called before a Write, which may belong to no exchange.
	unannounced()
	// framed reports whether a cut write makes further writes useless.
	framed() bool
	// congested reports whether the reader has to wait for Conn.steered.
	congested() bool
	// idle reports whether an open connection could carry another request.
	idle() bool
	// underWay lists the exchanges that have not ended.
	underWay() []*Exchange
	// ended is called when the peer has ended the connection. It completes the responses
	// that end with the connection, and returns the outcome of all others.
	ended(o bundle.Outcome, detail string) (bundle.Outcome, string)
	// record adds the protocol's part to the record and describes its omissions.
	record(rec *bundle.Conn) (dropped string)
	// stop makes the peer stop sending the response of an exchange that is no longer read.
	stop(x *Exchange)
	// begin queues an exchange of Begin.
	begin(x *Exchange)

	// The following methods lock the mutex; see Request, Data, Cancel and Hold.

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

// Begin announces an HTTP/1.1 exchange. It gets the first response after those of earlier
// exchanges. Call Begin before the first byte of the request is written.
// The exchange returns at once on a connection that has ended, and on HTTP/2, which
// needs Request instead.
func (c *Conn) Begin(call Call) *Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.newExchange(call)
	c.proto.begin(x)
	return x
}

// errNotH2 is returned by the methods that need HTTP/2.
var errNotH2 = errors.New("the connection does not speak HTTP/2")

// Request opens a stream on an HTTP/2 connection and sends HEADERS with the
// fields in the given order: the pseudo fields are made of call.Method,
// call.Path and the field "host", which becomes :authority; names are put in lower
// case, and the fields that HTTP/2 does not have (connection, keep-alive,
// proxy-connection, transfer-encoding, upgrade) are left out. end sets END_STREAM.
//
// It waits while MAX_CONCURRENT_STREAMS is reached. The exchange is always
// recorded and never nil. If the request cannot be sent, Request returns an error, and
// the outcome of the exchange is the reason: no-answer when ctx ended first, closed after
// the peer's GOAWAY or the end of the connection, garbage after a connection error,
// aborted when we ended the connection (and on HTTP/1.1).
func (c *Conn) Request(ctx context.Context, call Call, end bool) (*Exchange, error) {
	return c.speaks().request(ctx, call, end)
}

// Data sends p as DATA on the exchange's stream, in frames of at most the peer's
// limits, waiting for window; end sets END_STREAM on the last one. An empty p
// is one empty frame. It fails when ctx ends, when the stream (ErrStreamEnded) or the
// connection (ErrEnded) has ended, and always on HTTP/1.1.
func (x *Exchange) Data(ctx context.Context, p []byte, end bool) error {
	if x.conn == nil {
		return errNotH2
	}
	return x.conn.speaks().data(ctx, x, p, end)
}

// Cancel ends the exchange: with RST_STREAM of that code on HTTP/2 (8 is CANCEL),
// with FIN on HTTP/1.1. It is recorded as aborted, unless it had ended before.
func (x *Exchange) Cancel(code uint32) {
	if x.conn != nil {
		x.conn.speaks().cancel(x, code)
	}
}

// Hold stops giving window to the exchange's stream, or resumes it: a peer
// that respects flow control can then send at most the rest of 4 MiB, while other
// streams of the connection continue. It does nothing on HTTP/1.1, which needs Pause
// instead, and on a raw connection.
func (x *Exchange) Hold(on bool) {
	if x.conn != nil {
		x.conn.speaks().hold(x, on)
	}
}
