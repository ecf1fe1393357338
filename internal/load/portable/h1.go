package portable

import (
	"assay/internal/load"
)

// openH1 sends a request on an idle connection or a new one. Without either, the request
// waits.
func (d *driver) openH1(x *exchange) {
	if c := x.pool.takeIdle(); c != nil {
		d.streams.Opening(x.s)
		d.run(x, c)
		x.s.Heard() // an earlier response had bytes
		return
	}
	if d.dialling == load.DialsAtOnce {
		d.waiting.Push(x)
		return
	}
	d.dialling++
	x.s.Conn = 0 // the dial
	d.streams.Opening(x.s)
	source := d.nextSource()
	d.running.Go(func() {
		c, f := d.connect(source)
		d.mu.Lock()
		defer d.unlock()
		d.dialling--
		switch {
		case f == nil && x.over:
			d.park(x.pool, c)
		case f == nil:
			d.run(x, c)
		case !x.over:
			d.fail(x, f)
		}
		d.serveH1()
	})
}

// serveH1 opens the requests that wait for a dial.
func (d *driver) serveH1() {
	for d.waiting.Len() > 0 && (d.dialling < load.DialsAtOnce || len(d.streamConns.idle) > 0) {
		if x := d.waiting.Pop(); !x.over {
			d.openH1(x)
		}
	}
}

// takeIdle takes the idle connection that was used last, or nil. It drops connections that
// the gateway has closed meanwhile.
func (p *pool) takeIdle() *conn {
	for n := len(p.idle); n > 0; n = len(p.idle) {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if c.client.Available() > 0 && isOpen(c.socket.Conn) {
			return c
		}
		c.close()
	}
	return nil
}

// park keeps a connection for the next request, or closes it when it is not reusable.
func (d *driver) park(p *pool, c *conn) {
	if d.ctx.Err() != nil || c.client.Available() == 0 {
		c.close()
		return
	}
	p.idle = append(p.idle, c)
	d.serveH1()
}
