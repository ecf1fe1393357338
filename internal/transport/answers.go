package transport

import (
	"strings"

	"assay/internal/bundle"
	"assay/internal/wire"
)

// opRaw is the Op of an answer to bytes that no exchange announced.
const opRaw = "raw"

// rawAnswers says what becomes of answers that no exchange announced.
type rawAnswers struct {
	shape    bundle.Shape
	codec    string
	expected bool // the last bytes that were written belong to no exchange, or none were
	begun    bool // an exchange was recorded for them
}

// SetShape says how un-announced answers are decoded from here on; plain until then.
func (c *Conn) SetShape(s bundle.Shape, codec string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.shape, c.raw.codec = s, codec
	for _, x := range c.queue {
		if x.rec.Op == opRaw && x.rec.Response == nil {
			x.rec.Shape, x.rec.Codec = s, codec
		}
	}
}

// Raw is the last exchange that was recorded for un-announced bytes, or nil. It
// is there from the first un-announced write on, under the connection's name.
func (c *Conn) Raw() *Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.last.rec.Op == opRaw {
		return c.last
	}
	return nil
}

// noteUnannounced is called before each write. The first one that belongs to no
// exchange gets one of its own; later ones get theirs when an answer comes.
func (c *Conn) noteUnannounced() {
	if c.unsent > 0 {
		return
	}
	c.raw.expected = true
	if !c.raw.begun && !c.peerClosed && c.lostAt < 0 {
		c.beginRaw()
	}
}

func (c *Conn) beginRaw() *Exchange {
	c.raw.begun = true
	x := c.recorder.newExchange(Call{
		Name: c.meta.Name, Op: opRaw, Shape: c.raw.shape, Codec: c.raw.codec,
	}, c, &c.mu)
	c.queue = append(c.queue, x)
	c.last = x
	return x
}

// front is the exchange that the bytes now coming answer, or nil.
func (c *Conn) front() *Exchange {
	if len(c.queue) == 0 {
		return nil
	}
	return c.queue[0]
}

// requestMethod is the decoder's question for the method of the request being answered.
func (c *Conn) requestMethod() string {
	x := c.front()
	switch {
	case x != nil && x.method != "":
		return x.method
	case x != nil || c.raw.expected:
		return "POST"
	default:
		return ""
	}
}

func (c *Conn) onHead(h wire.Head) {
	x := c.front()
	if x == nil {
		x = c.beginRaw()
	}
	x.begin(h)
	if h.Status < 200 {
		return
	}
	for _, v := range x.rec.Response.Get("Connection") {
		if strings.EqualFold(strings.TrimSpace(v), "close") {
			c.oneShot = true
		}
	}
	if h.Proto != "HTTP/1.1" {
		c.oneShot = true
	}
}

func (c *Conn) onBody(p []byte) {
	if x := c.front(); x != nil {
		x.feed(p)
	}
}

func (c *Conn) onEnd(trailers []wire.Field) {
	x := c.front()
	if x == nil {
		return
	}
	c.queue = c.queue[1:]
	x.complete(trailers)
}

// onViolation attaches a breach of HTTP to the exchange it concerns. Offsets are
// of the connection's bytes.
func (c *Conn) onViolation(v wire.Violation) {
	x := c.front()
	switch {
	case x != nil:
	case c.raw.expected:
		x = c.beginRaw()
	default:
		x = c.last
	}
	x.violate(inHTTP, v)
}

// settle looks after each feed whether the framing is lost; no answer can
// complete on the connection then.
func (c *Conn) settle() {
	if !c.dec.Lost() {
		return
	}
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
