package transport

import "assay/internal/record/bundle"

// rawAnswers is how responses without an announced exchange are recorded.
type rawAnswers struct {
	shape    bundle.Shape
	codec    string
	expected bool // the last written bytes belong to no exchange, or nothing was written
	begun    bool // an exchange exists for them
}

// SetShape sets how unannounced responses are decoded from now on; the default is plain.
func (c *Conn) SetShape(s bundle.Shape, codec string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.shape, c.raw.codec = s, codec
	for _, x := range c.queue {
		if x.rec.Op == bundle.OpRaw && x.rec.Response == nil {
			x.rec.Shape, x.rec.Codec = s, codec
		}
	}
}

// Raw returns the last exchange of unannounced bytes, or nil. The first unannounced
// write creates one under the connection's name.
func (c *Conn) Raw() *Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.last.rec.Op == bundle.OpRaw {
		return c.last
	}
	return nil
}

// newExchange begins the record of an exchange on the connection.
func (c *Conn) newExchange(call Call) *Exchange {
	c.last = c.recorder.newExchange(call, c, &c.mu)
	return c.last
}

// noteUnannounced is called before each write. The first write that belongs to no
// exchange creates one; after later ones, a response creates it.
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
	x := c.newExchange(Call{Name: c.meta.Name, Op: bundle.OpRaw, Shape: c.raw.shape, Codec: c.raw.codec})
	c.queue = append(c.queue, x)
	return x
}

// front returns the exchange that receives the current response, or nil.
func (c *Conn) front() *Exchange {
	if len(c.queue) == 0 {
		return nil
	}
	return c.queue[0]
}
