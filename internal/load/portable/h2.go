package portable

import (
	"slices"

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
	redial   account.Redial
	waiting  account.Queue[*exchange]
}

// serveH2 gives waiting requests to connections that have room.
func (d *driver) serveH2(p *pool) {
	for p.waiting.Len() > 0 && d.ctx.Err() == nil {
		if p.waiting.Peek().over {
			p.waiting.Pop()
			continue
		}
		c := d.freest(p)
		if p.waiting.Len() == 0 {
			return
		}
		if c == nil || len(p.conns)+p.dialling < p.wanted {
			d.growH2(p, c == nil)
		}
		if c == nil {
			return
		}
		if c.client.Reserve() == nil { // otherwise the connection has just ended
			if c.unused() {
				p.redial.Took()
			}
			d.run(p.waiting.Pop(), c)
		}
	}
}

// freest returns the connection with the fewest streams that has room, or nil. It removes
// connections that have ended. One that took no request counts as a failed dial.
func (d *driver) freest(p *pool) *conn {
	var best *conn
	var f *account.Failure
	p.conns = slices.DeleteFunc(p.conns, func(c *conn) bool {
		if c.client.Available() > 0 && (best == nil || c.open < best.open) {
			best = c
		}
		err := c.client.Err()
		if err != nil && c.unused() {
			f = c.failureH2(err)
		}
		return err != nil
	})
	if f != nil {
		d.undialled(p, f, best != nil)
	}
	return best
}

// growH2 dials as many connections as the waiting requests need. After a failure it pauses, unless
// the failure has failed every request that waited.
func (d *driver) growH2(p *pool, full bool) {
	if len(p.conns)+p.dialling > 0 && p.redial.Pausing(d.now) {
		return
	}
	need := p.wanted - len(p.conns)
	if full && p.room > 0 { // with a limit of 0 streams, more connections do not help
		need = max(need, (p.waiting.Len()+p.room-1)/p.room)
	}
	need = min(need, load.H2Most-len(p.conns), load.H2DialsAtOnce)
	for p.dialling < need {
		p.dialling++
		source := d.nextSource()
		d.running.Go(func() {
			c, f := d.connect(source)
			d.mu.Lock()
			defer d.unlock()
			d.joinH2(p, c, f)
		})
	}
}

// joinH2 adds a new connection to a pool, or handles the failure f of its dial.
func (d *driver) joinH2(p *pool, c *conn, f *account.Failure) {
	p.dialling--
	switch {
	case f == nil && d.ctx.Err() != nil:
		c.close()
	case f == nil:
		p.conns = append(p.conns, c)
		p.room = c.client.Available()
		d.serveH2(p)
	default:
		d.undialled(p, f, d.freest(p) != nil)
	}
}

// undialled handles the failure of a dial, or of a connection that ended before it took a
// request. Without any other connection, the waiting requests fail. With one, they wait for room
// on it; if there is none, the one that waits longest fails, so that the run tells why.
func (d *driver) undialled(p *pool, f *account.Failure, room bool) {
	p.redial.Failed(d.plan, f, d.now())
	others := len(p.conns)+p.dialling > 0
	if others && (len(p.conns) == 0 || room) {
		return
	}
	for p.waiting.Len() > 0 && (!others || !p.redial.Told()) {
		if x := p.waiting.Pop(); !x.over {
			d.fail(x, p.redial.Tell())
		}
	}
}
