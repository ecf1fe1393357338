package transport

import "assay/internal/bundle"

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

// newExchange begins the record of an exchange on the connection.
func (c *Conn) newExchange(call Call) *Exchange {
	c.last = c.recorder.newExchange(call, c, &c.mu)
	return c.last
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
	x := c.newExchange(Call{Name: c.meta.Name, Op: opRaw, Shape: c.raw.shape, Codec: c.raw.codec})
	c.queue = append(c.queue, x)
	return x
}

// front is the exchange that the bytes now coming answer, or nil.
func (c *Conn) front() *Exchange {
	if len(c.queue) == 0 {
		return nil
	}
	return c.queue[0]
}
