package canned

import (
	"bytes"
	"strconv"

	"golang.org/x/net/http2"

	"assay/internal/base/tlsloop"
)

// The limits of the buffers for a client that does not read, or that sends incomplete
// requests.
const (
	maxUnsent   = 256 << 10 // more events wait until the client reads
	maxControl  = 1 << 20   // responses other than streams; beyond it the connection is closed
	maxUnparsed = 64 << 10
)

// conn is one connection.
type conn struct {
	gateway *gateway
	fd      int
	tls     *tlsloop.Conn // nil: in clear
	in      []byte        // received and not parsed
	out     []byte        // not accepted by the kernel
	waiting []*stream
	h1      *h1
	h2      *h2conn

	queued, dirty, unread, unsent bool
	shaking                       bool // the TLS handshake is not complete
	closing                       bool // after all of out is sent
	closed                        bool
}

// received parses received bytes, with the unparsed ones before them.
func (c *conn) received(p []byte) {
	if c.closed || c.closing {
		return
	}
	if len(c.in) > 0 {
		c.in = append(c.in, p...)
		p = c.in
	}
	if c.h1 == nil && c.h2 == nil && len(p) > 0 {
		n := min(len(p), len(http2.ClientPreface))
		switch {
		case string(p[:n]) != http2.ClientPreface[:n]:
			c.h1 = &h1{}
		case n < len(http2.ClientPreface):
			c.keep(p)
			return
		default:
			p = p[n:]
			c.openH2()
		}
	}
	switch {
	case c.h2 != nil:
		p = c.readFrames(p)
	case c.h1 != nil && c.h1.switched:
		p = c.readMessages(p)
	case c.h1 != nil:
		p = c.readRequests(p)
	}
	if !c.closed {
		c.keep(p)
	}
}

// keep stores unparsed bytes; p may be a part of c.in.
func (c *conn) keep(p []byte) {
	if len(p) == 0 {
		c.in = nil
	} else {
		c.in = append(c.in[:0], p...)
	}
	if full := len(c.in) > maxUnparsed; full != c.unread {
		c.unread = full
		c.watch()
	}
}

func (c *conn) watch() { c.gateway.system.watch(c, !c.unread, c.unsent) }

// resume parses the requests that arrived while a stream occupied the connection.
func (c *conn) resume() {
	if !c.queued && len(c.in) > 0 && !c.closed {
		c.queued = true
		c.gateway.ready = append(c.gateway.ready, c)
	}
}

// room reports whether another event may be sent.
func (c *conn) room() bool { return !c.closed && len(c.out) < maxUnsent }

// send sends bytes, or buffers them if they have to be sent together with others
// or the kernel accepts no more.
func (c *conn) send(p []byte) {
	switch {
	case c.closed || len(p) == 0:
		return
	case len(c.out) == 0 && !c.gateway.together:
		n, err := c.gateway.system.write(c, p)
		if err != nil {
			c.drop()
			return
		}
		if p = p[n:]; len(p) == 0 && !c.tls.Pending() {
			return
		}
	}
	c.out = append(c.out, p...)
	switch {
	case len(c.out) > maxUnsent+maxControl:
		c.drop()
	case !c.dirty && !c.unsent:
		c.dirty = true
		c.gateway.dirty = append(c.gateway.dirty, c)
	}
}

// unwritten reports whether bytes wait for the kernel.
func (c *conn) unwritten() bool { return len(c.out) > 0 || c.tls.Pending() }

// flush sends buffered bytes.
func (c *conn) flush() {
	if c.closed {
		return
	}
	if c.unwritten() {
		n, err := c.gateway.system.write(c, c.out)
		if err != nil {
			c.drop()
			return
		}
		if n < len(c.out) {
			c.out = append(c.out[:0], c.out[n:]...)
		} else {
			c.out = nil
		}
	}
	if unsent := c.unwritten(); unsent != c.unsent {
		c.unsent = unsent
		c.watch()
	}
	switch {
	case !c.unsent && c.closing:
		c.drop()
	case len(c.out) < maxUnsent/2:
		c.unstick()
	}
}

// wait suspends a stream until there is room.
func (c *conn) wait(s *stream) {
	if s.stage == over {
		return
	}
	if s.stuck = true; !s.listed {
		s.listed = true
		c.waiting = append(c.waiting, s)
	}
}

// unstick resumes the streams that wait for room.
func (c *conn) unstick() {
	waiting := c.waiting
	c.waiting = nil
	for _, s := range waiting {
		if s.listed = false; s.stuck {
			c.gateway.pump(s)
			if s.stage == over {
				c.resume()
			}
		}
	}
}

// closeAfter closes the connection after everything is sent.
func (c *conn) closeAfter() {
	c.closing = true
	if !c.unwritten() {
		c.drop()
	}
}

// drop closes the connection and kills the processes of its streams.
func (c *conn) drop() {
	if c.closed {
		return
	}
	c.closed, c.in, c.out, c.waiting = true, nil, nil, nil
	if c.h1 != nil && c.h1.stream != nil {
		c.gateway.lost(c.h1.stream)
		c.h1.stream = nil
	}
	if c.h2 != nil {
		for _, call := range c.h2.calls {
			if call.stream != nil {
				c.gateway.lost(call.stream)
			}
		}
		c.h2.calls = nil
	}
	c.gateway.doomed = append(c.gateway.doomed, c)
}

// sendUnit sends the next unit of a stream; false if there is not enough room.
func (c *conn) sendUnit(s *stream) bool {
	if c.h2 != nil {
		return c.sendFrames(s)
	}
	g, e := c.gateway, s.enc
	switch s.stage {
	case atStart:
		if c.h1.switched {
			g.scratch = e.appendSwitch(g.scratch[:0], c.h1.key)
		} else {
			g.scratch = e.appendStart(append(g.scratch[:0], e.head1...), s.pid, true)
		}
		c.send(g.scratch)
	case atData:
		u, err := e.event(s.next)
		if err != nil {
			c.drop()
			return false
		}
		c.send(e.raw(u))
	case atEnd:
		g.scratch = append(g.scratch[:0], e.raw(s.end())...)
		if e.tail.body == nil {
			g.scratch = append(g.scratch, lastChunk...)
		}
		c.send(g.scratch)
	case atTail:
		g.scratch = append(g.scratch[:0], e.raw(e.tail)...)
		if !c.h1.switched {
			g.scratch = append(g.scratch, lastChunk...)
		}
		c.send(g.scratch)
	case over:
	}
	return !c.closed
}

// end returns the end event.
func (s *stream) end() unit {
	if s.killed {
		return s.enc.killed
	}
	return s.enc.end
}

// answered is called after the last unit of a stream.
func (c *conn) answered(s *stream) {
	switch {
	case c.h2 != nil:
		delete(c.h2.calls, s.id)
	case c.h1 != nil:
		c.h1.stream = nil
		if !c.h1.keep && !c.h1.switched { // a WebSocket ends with the Close frame of the client
			c.closeAfter()
		}
	}
}

// reply sends a complete response over HTTP/1.1.
func (c *conn) reply(a answer) {
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 " + strconv.Itoa(a.status) + " Canned\r\nContent-Type: " + a.contentType + "\r\nContent-Length: " + strconv.Itoa(len(a.body)) + "\r\n\r\n")
	b.Write(a.body)
	c.send(b.Bytes())
	if !c.h1.keep {
		c.closeAfter()
	}
}
