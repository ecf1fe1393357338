package load

import (
	"sync"
)

// h1Pool is the HTTP/1.1 connections of a run: a goroutine each. One whose answer
// has ended is used again, the last one first.
type h1Pool struct {
	dialer  *dialer
	buffers buffers

	mu     sync.Mutex
	idle   []*h1Conn
	conns  map[*h1Conn]struct{}
	closed bool
	wg     sync.WaitGroup
}

var _ pool = (*h1Pool)(nil)

func newH1Pool(d *dialer) *h1Pool {
	return &h1Pool{dialer: d, conns: map[*h1Conn]struct{}{}}
}

// h1Job is one request and who waits for its answer.
type h1Job struct {
	req *encoded
	a   answer
}

func (p *h1Pool) do(req *encoded, a answer) {
	job := h1Job{req, a}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		a.fail(gaveUp(), p.dialer.now())
		return
	}
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		c.next <- job // has room for one, and an idle connection has none
		p.mu.Unlock()
		return
	}
	c := newH1Conn(p)
	p.conns[c] = struct{}{}
	p.wg.Add(1)
	p.mu.Unlock()
	go c.serve(job)
}

// cancel has nothing to do: an answer that has not begun is with a goroutine that
// dials, or waits to, and asks again before it sends.
func (p *h1Pool) cancel(answer, *failure) {}

// park keeps a connection for the next request; false means that the pool closes.
func (p *h1Pool) park(c *h1Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.idle = append(p.idle, c)
	return true
}

// forget takes a connection away whose goroutine ends.
func (p *h1Pool) forget(c *h1Conn) {
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

func (p *h1Pool) close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.dialer.stop()
		for _, c := range p.idle {
			close(c.next)
		}
		p.idle = nil
		for c := range p.conns {
			c.abort()
		}
	}
	p.mu.Unlock()
	p.wg.Wait()
}
