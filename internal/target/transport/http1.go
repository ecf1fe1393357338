package transport

import (
	"context"

	"golang.org/x/net/http/httpguts"

	"assay/internal/base/crash"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// http1 implements HTTP/1.1: responses answer the exchanges of the connection's queue in
// order.
type http1 struct {
	conn    *Conn
	dec     wire.ResponseDecoder
	oneShot bool    // a response announced the end of the connection
	socket  *socket // after an upgrade
}

func newHTTP1(c *Conn) *http1 {
	h := &http1{conn: c}
	h.dec = wire.ResponseDecoder{
		Method: h.method, OnHead: h.onHead, OnBody: h.onBody, OnEnd: h.onEnd, OnViolation: h.onViolation,
		Upgrade: h.upgrades, OnSwitched: h.onSwitched,
	}
	return h
}

func (h *http1) start(context.Context) { crash.Go(h.conn.read) }

// feed decodes p, unless the exchange that it belongs to was given up. When the framing is lost, every exchange ends:
// none can complete.
func (h *http1) feed(p []byte) {
	if h.abandoned() {
		return
	}
	h.dec.Feed(p)
	if !h.dec.Lost() {
		return
	}
	c := h.conn
	c.lostAt = c.received.n
	for i, x := range c.queue {
		if i == 0 {
			x.end(bundle.OutcomeGarbage, "the answer is not HTTP: "+x.lastViolation())
			continue
		}
		x.end(bundle.OutcomeGarbage, "an earlier answer on the connection was not HTTP")
	}
	c.queue = nil
}

// abandoned reports whether the next bytes belong to an exchange that was given up.
func (h *http1) abandoned() bool {
	x := h.conn.front()
	return x != nil && x.abandoned || h.socket != nil && h.socket.x.abandoned
}

func (h *http1) sending(p []byte, _ bundle.Stamp) {
	if h.socket != nil {
		h.socket.sent.Feed(p)
	}
}

func (h *http1) unannounced() {
	if h.socket == nil {
		h.conn.noteUnannounced()
	}
}

func (h *http1) framed() bool { return false }

func (h *http1) congested() bool { return false }

func (h *http1) idle() bool { return !h.oneShot && len(h.conn.queue) == 0 && h.dec.Idle() }

func (h *http1) underWay() []*Exchange { return h.conn.queue }

func (h *http1) ended(o bundle.Outcome, detail string) (bundle.Outcome, string) {
	x := h.conn.front()
	untilClose := x != nil && x.rec.Response != nil && x.rec.Response.Framing == wire.FramingClose
	// A reset does not end a body that lasts until the connection closes.
	if h.conn.lostAt < 0 && !h.abandoned() && (o == bundle.OutcomeClosed || !untilClose) {
		h.dec.Close()
		if h.socket != nil {
			h.socket.dec.Close()
		}
	}
	if h.socket != nil {
		h.socket.hangUp()
	}
	return o, detail
}

// stop closes the connection: HTTP/1.1 has no other way to stop a response.
func (h *http1) stop(*Exchange) {
	c := h.conn
	if c.closed {
		return
	}
	rest := c.queue
	c.endedByUs("fin")
	c.shut()
	for _, x := range rest {
		x.leaveUnread("an earlier response on the connection was not read to its end")
	}
}

func (h *http1) record(*bundle.Conn) (dropped string) { return "" }

func (h *http1) begin(x *Exchange) {
	c := h.conn
	c.raw.expected = false
	switch {
	case c.peerClosed:
		x.end(bundle.OutcomeClosed, "the peer had closed the connection before the request")
	case c.closed || c.silent:
		x.abort("we had ended the connection before the request")
	case c.lostAt >= 0:
		x.end(bundle.OutcomeGarbage, "an earlier answer on the connection was not HTTP")
	default:
		c.unsent++
		x.counted = true
		c.queue = append(c.queue, x)
	}
}

func (h *http1) request(_ context.Context, call Call, _ bool) (*Exchange, error) {
	h.conn.mu.Lock()
	defer h.conn.mu.Unlock()
	x := h.conn.newExchange(call)
	x.abort(errNotH2.Error())
	return x, errNotH2
}

func (h *http1) data(context.Context, *Exchange, []byte, bool) error { return errNotH2 }

func (h *http1) cancel(x *Exchange, _ uint32) {
	x.Abort()
	h.conn.Close("fin")
}

func (h *http1) hold(*Exchange, bool) {}

// method returns the method of the request that is being answered, for the decoder.
func (h *http1) method() string {
	x := h.conn.front()
	switch {
	case h.conn.closed:
		return "POST" // the rest of a response that is no longer read
	case x != nil && x.method != "":
		return x.method
	case x != nil || h.conn.raw.expected:
		return "POST"
	default:
		return ""
	}
}

func (h *http1) onHead(head wire.Head) {
	if h.conn.closed {
		return
	}
	x := h.conn.front()
	if x == nil {
		x = h.conn.beginRaw()
	}
	x.begin(head)
	if s, ok := x.answer.(*socket); ok {
		h.socket = s
	}
	if head.Status < 200 || h.conn.closed {
		return
	}
	// Connection is a list (RFC 9110, section 7.6.1; RFC 9112, section 9.6).
	if head.Proto != "HTTP/1.1" || httpguts.HeaderValuesContainsToken(x.rec.Response.Get("Connection"), "close") {
		h.oneShot = true
	}
}

func (h *http1) onBody(p []byte) {
	if x := h.conn.front(); x != nil {
		x.feed(p)
	}
}

func (h *http1) onEnd(trailers []wire.Field) {
	x := h.conn.front()
	if x == nil {
		return
	}
	h.conn.queue = h.conn.queue[1:]
	x.complete(trailers)
}

// upgrades reports whether the exchange that is being answered asked for a WebSocket.
func (h *http1) upgrades() bool { return h.socket != nil }

// onSwitched decodes the frames of a WebSocket. After its close further ones are only checked.
func (h *http1) onSwitched(p []byte) {
	if h.conn.closed {
		return
	}
	if h.socket.x.over {
		h.socket.dec.Feed(p)
		return
	}
	h.socket.x.feed(p)
}

// onViolation attaches a violation to its exchange.
func (h *http1) onViolation(v wire.Violation) {
	x := h.conn.front()
	switch {
	case h.conn.closed:
		return
	case x != nil:
	case h.conn.raw.expected:
		x = h.conn.beginRaw()
	default:
		x = h.conn.last
	}
	x.violate(inHTTP, v)
}
