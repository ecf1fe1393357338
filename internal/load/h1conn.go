package load

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"assay/internal/wire"
)

// h1Conn is one HTTP/1.1 connection and its goroutine.
type h1Conn struct {
	pool *h1Pool
	next chan h1Job // the next request for an idle connection

	mu   sync.Mutex
	nc   net.Conn
	cur  answer   // whose answer is being read
	why  *failure // why cancel closed the connection
	shut bool     // the pool closes

	reader  readiness
	dec     wire.ResponseDecoder
	now     time.Duration
	any     bool // a byte of the present answer came
	done    bool // the present answer is complete
	reuse   bool // the connection may be used again
	breach  *failure
	trailer []wire.Field
}

func newH1Conn(p *h1Pool) *h1Conn {
	return &h1Conn{pool: p, next: make(chan h1Job, 1)}
}

// serve answers one request after the other, until the connection is of no more use.
func (c *h1Conn) serve(job h1Job) {
	defer c.pool.wg.Done()
	defer c.pool.forget(c)
	defer c.hangUp()
	for {
		if !c.run(job) {
			return
		}
		var open bool
		if job, open = <-c.next; !open {
			return
		}
	}
}

// run does one request. It reports whether the connection was parked for another.
func (c *h1Conn) run(job h1Job) bool {
	a := job.a
	if !c.ready(a) {
		return false
	}
	c.mu.Lock()
	c.cur, c.why = a, nil
	c.mu.Unlock()
	if !a.begin(c) {
		c.lose(a, gaveUp())
		return false
	}
	c.any, c.done, c.reuse, c.breach, c.trailer = false, false, false, nil, nil
	if _, err := c.nc.Write(job.req.bytes); err != nil {
		c.lose(a, broken(err, "while the request was sent"))
		return false
	}
	a.sent(c.pool.dialer.now())
	for !c.done {
		if f := c.read(a); f != nil {
			c.lose(a, f)
			return false
		}
	}
	c.settle()
	// Parked before the answer is told, so that the request that follows finds it.
	parked := c.reuse && c.pool.park(c)
	a.end(c.trailer, c.now)
	return parked
}

// ready makes sure that there is a connection.
func (c *h1Conn) ready(a answer) bool {
	if c.nc != nil && c.reader.closedByPeer() {
		c.hangUp()
	}
	if c.nc != nil {
		a.heard()
		if !a.opening() {
			a.fail(gaveUp(), c.pool.dialer.now())
			return false
		}
		return true
	}
	d := c.pool.dialer
	if !d.acquire() {
		a.fail(gaveUp(), d.now())
		return false
	}
	f := gaveUp()
	var nc net.Conn
	if a.opening() {
		nc, f = d.dial()
	}
	d.release()
	if f != nil {
		a.fail(f, d.now())
		return false
	}
	c.mu.Lock()
	c.nc = nc
	if c.shut {
		_ = nc.Close()
	}
	c.mu.Unlock()
	c.reader.attach(nc, &c.pool.buffers)
	c.dec = wire.ResponseDecoder{
		Method: c.method, OnHead: c.onHead, OnBody: c.onBody, OnEnd: c.onEnd, OnViolation: c.onViolation,
	}
	return true
}

// read reads once and decodes what came.
func (c *h1Conn) read(a answer) *failure {
	p, err := c.reader.read()
	c.now = c.pool.dialer.now()
	if len(p) > 0 {
		if !c.any {
			c.any = true
			a.heard()
		}
		c.dec.Feed(p)
		c.reader.free()
		if c.dec.Lost() && !c.done {
			return c.lost()
		}
	}
	if err == nil || c.done {
		return nil
	}
	c.dec.Close()
	switch {
	case c.done: // the end of the connection was the end of the answer
		return nil
	case !errors.Is(err, io.EOF):
		where := "inside the answer"
		if !c.any {
			where = "before the answer"
		}
		return broken(err, where)
	case !c.any:
		return &failure{outcome: Reset, detail: "the connection was closed without an answer"}
	}
	return &failure{outcome: Reset, detail: "the connection was closed inside the answer"}
}

// lost is the failure of an answer whose framing cannot be followed.
func (c *h1Conn) lost() *failure {
	if c.breach != nil {
		return c.breach
	}
	return &failure{outcome: Corrupt, detail: "the framing of the answer is broken"}
}

// settle ends the present answer's claim to the connection.
func (c *h1Conn) settle() {
	c.mu.Lock()
	c.cur = nil
	c.reuse = c.reuse && c.why == nil && !c.shut && c.dec.Idle()
	c.mu.Unlock()
}

// lose gives the connection up and tells the answer.
func (c *h1Conn) lose(a answer, f *failure) {
	c.mu.Lock()
	if c.why != nil {
		f = c.why
	}
	c.cur = nil
	c.mu.Unlock()
	c.hangUp()
	a.fail(f, c.pool.dialer.now())
}

// hangUp closes the connection.
func (c *h1Conn) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nc != nil {
		_ = c.nc.Close()
		c.nc = nil
	}
}

// cancel closes the connection under an answer.
func (c *h1Conn) cancel(a answer, f *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cur == a && c.nc != nil {
		c.why = f
		_ = c.nc.Close()
	}
}

// abort closes the connection because the pool closes.
func (c *h1Conn) abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut = true
	if c.nc != nil {
		_ = c.nc.Close()
	}
}

// method says whose answer comes next: nobody's, once the present one is complete.
func (c *h1Conn) method() string {
	if c.done {
		return ""
	}
	return "POST"
}

func (c *h1Conn) onHead(h wire.Head) {
	if h.Status < 200 {
		return
	}
	c.reuse = h.Framing != wire.FramingClose && h.Proto == "HTTP/1.1"
	for _, f := range h.Fields {
		if strings.EqualFold(f.Name, "connection") && strings.EqualFold(f.Value, "close") {
			c.reuse = false
		}
	}
	c.current().head(h.Status, h.Fields, c.now)
}

func (c *h1Conn) onBody(p []byte) { c.current().data(p, c.now) }

func (c *h1Conn) onEnd(trailers []wire.Field) { c.done, c.trailer = true, trailers }

func (c *h1Conn) onViolation(v wire.Violation) {
	switch v.Kind {
	case wire.HTTPTruncated:
		// Said better by how the connection ended.
	case wire.HTTPStatusLine:
		if c.breach == nil {
			c.breach = &failure{outcome: ServerError, refused: true, detail: "the answer is no HTTP/1.1: " + v.Detail}
		}
	default:
		text := string(v.Kind) + ": " + v.Detail
		if c.breach == nil {
			c.breach = &failure{outcome: Corrupt, detail: text}
		}
		c.current().breach(text)
	}
}

// current is the answer that is read. Only the connection's goroutine changes it
// while an answer is read, so it needs no lock here.
func (c *h1Conn) current() answer { return c.cur }
