package portable

import (
	"slices"

	"assay/internal/crash"
	"assay/internal/load"
	"assay/internal/load/account"
)

// h2pool is a set of HTTP/2 connections that share a load. A request goes to the
// connection with the fewest streams. No connection gets more streams than the gateway's
// MAX_CONCURRENT_STREAMS; requests without room wait in order.
type h2pool struct {
	conns    []*conn
	dialling int
	wanted   int // connections to open even if the others have room
	room     int // streams that the last connection allows
	waiting  account.Queue[*exchange]
}

// serveH2 gives waiting requests to connections that have room.
func (d *driver) serveH2(p *pool) {
	for p.waiting.Len() > 0 && d.ctx.Err() == nil {
		if p.waiting.Peek().over {
			p.waiting.Pop()
			continue
		}
		c := p.freest()
		if c == nil || len(p.conns)+p.dialling < p.wanted {
			d.growH2(p, c == nil)
		}
		if c == nil {
			return
		}
		if c.client.Reserve() == nil { // otherwise the connection has just ended
			d.run(p.waiting.Pop(), c)
		}
	}
}

// freest returns the connection with the fewest streams that has room, or nil. It removes
// connections that have ended.
func (p *pool) freest() *conn {
	var best *conn
	p.conns = slices.DeleteFunc(p.conns, func(c *conn) bool {
		if c.client.Available() > 0 && (best == nil || c.open < best.open) {
			best = c
		}
		return c.client.Err() != nil
	})
	return best
}

// growH2 dials as many connections as the waiting requests need.
func (d *driver) growH2(p *pool, full bool) {
	need := p.wanted - len(p.conns)
	if full && p.room > 0 { // with a limit of 0 streams, more connections do not help
		need = max(need, (p.waiting.Len()+p.room-1)/p.room)
	}
	need = min(need, load.H2Most-len(p.conns), load.H2DialsAtOnce)
	for p.dialling < need {
		p.dialling++
		source := d.nextSource()
		d.running.Go(func() {
			defer crash.Catch()
			c, f := d.connect(source)
			d.mu.Lock()
			defer d.unlock()
			d.joinH2(p, c, f)
		})
	}
}

// joinH2 adds a new connection to a pool, or handles the failure f of its dial: without any
// other connection, the waiting requests fail.
func (d *driver) joinH2(p *pool, c *conn, f *account.Failure) {
	p.dialling--
	switch {
	case f == nil && d.ctx.Err() != nil:
		c.close()
		return
	case f == nil:
		p.conns = append(p.conns, c)
		p.room = c.client.Available()
		d.serveH2(p)
		return
	case len(p.conns) > 0 || p.dialling > 0:
		return
	}
	for p.waiting.Len() > 0 {
		if x := p.waiting.Pop(); !x.over {
			one := *f
			d.fail(x, &one)
		}
	}
}
