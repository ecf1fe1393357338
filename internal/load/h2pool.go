package load

import (
	"slices"
	"sync"
	"time"
)

const (
	// h2Streams is how many streams an HTTP/2 connection gets before another is opened,
	// while there are fewer than h2Wanted of them. Few connections are cheapest for
	// the driver; several, because gateways often have a loop or a lock for each.
	h2Streams = 1000
	h2Wanted  = 4
	// h2Most bounds the connections to a gateway that allows few streams on each.
	h2Most = 256
	// h2Guess is how many streams a connection is thought to take before one has said it.
	h2Guess = 100
)

// h2Pool is the HTTP/2 connections of a run. A request goes to the connection with
// the fewest streams; the other side's MAX_CONCURRENT_STREAMS is kept, and what finds
// no room waits in order.
type h2Pool struct {
	dialer    *dialer
	handshake time.Duration // bounds the wait for the other side's SETTINGS

	mu      sync.Mutex
	conns   []*h2Conn
	dialing int
	wanted  int // connections to have before they are full
	room    int // streams that the last connection said it takes
	waiting []h2Job
	closed  bool
	wg      sync.WaitGroup
}

// h2Job is one request and who waits for its answer.
type h2Job struct {
	req *encoded
	a   answer
}

var _ pool = (*h2Pool)(nil)

func newH2Pool(d *dialer, handshake time.Duration, streams int) *h2Pool {
	return &h2Pool{dialer: d, handshake: handshake, room: h2Guess, wanted: h2Connections(streams)}
}

// h2Connections is how many connections so many streams get, unless the other side
// allows few streams on each.
func h2Connections(streams int) int { return min(max((streams+h2Streams-1)/h2Streams, 1), h2Wanted) }

func (p *h2Pool) do(req *encoded, a answer) {
	wanted := a.opening()
	p.mu.Lock()
	closed := p.closed || !wanted
	if !closed {
		p.waiting = append(p.waiting, h2Job{req, a})
	}
	p.mu.Unlock()
	if closed {
		a.fail(gaveUp(), p.dialer.now())
		return
	}
	p.dispatch()
}

// dispatch gives waiting requests to connections, as far as there is room.
func (p *h2Pool) dispatch() {
	for {
		p.mu.Lock()
		c := p.freest()
		if len(p.waiting) == 0 || p.closed {
			p.mu.Unlock()
			return
		}
		if c == nil || len(p.conns)+p.dialing < p.wanted {
			p.grow(c == nil)
		}
		if c == nil {
			p.mu.Unlock()
			return
		}
		job := p.waiting[0]
		p.waiting[0] = h2Job{}
		p.waiting = p.waiting[1:]
		c.taken++
		p.mu.Unlock()
		c.begin(job)
	}
}

// freest is the connection with the fewest streams that has room, or nil.
func (p *h2Pool) freest() *h2Conn {
	var best *h2Conn
	for _, c := range p.conns {
		if c.taken < c.limit() && (best == nil || c.taken < best.taken) {
			best = c
		}
	}
	return best
}

// grow dials as many connections as the waiting requests need.
func (p *h2Pool) grow(full bool) {
	need := p.wanted - len(p.conns)
	if full {
		need = max(need, (len(p.waiting)+p.room-1)/max(p.room, 1))
	}
	if p.room == 0 {
		need = p.wanted - len(p.conns) // it takes no streams at all; more connections change nothing
	}
	need = min(need, h2Most-len(p.conns), 16)
	for p.dialing < need {
		p.dialing++
		p.wg.Add(1)
		go p.connect()
	}
}

// connect opens one connection and reads it until it ends.
func (p *h2Pool) connect() {
	defer p.wg.Done()
	c, f := p.open()
	p.mu.Lock()
	p.dialing--
	if f == nil && p.closed {
		f = gaveUp()
		c.hangUp()
	}
	var lost []h2Job
	if f == nil {
		p.conns = append(p.conns, c)
		p.room = c.limit()
	} else if len(p.conns) == 0 && p.dialing == 0 {
		lost, p.waiting = p.waiting, nil
	}
	p.mu.Unlock()
	for _, job := range lost {
		job.a.fail(f, p.dialer.now())
	}
	if f != nil {
		return
	}
	p.dispatch()
	c.read()
}

// open dials and shakes hands.
func (p *h2Pool) open() (*h2Conn, *failure) {
	if !p.dialer.acquire() {
		return nil, gaveUp()
	}
	nc, f := p.dialer.dial()
	p.dialer.release()
	if f != nil {
		return nil, f
	}
	return shakeHands(p, nc)
}

// freed is called when n streams of a connection have ended.
func (p *h2Pool) freed(c *h2Conn, n int) {
	p.mu.Lock()
	c.taken -= n
	more := len(p.waiting) > 0
	p.mu.Unlock()
	if more {
		p.dispatch()
	}
}

// forget takes a connection away that takes no more streams.
func (p *h2Pool) forget(c *h2Conn) {
	p.mu.Lock()
	p.conns = slices.DeleteFunc(p.conns, func(o *h2Conn) bool { return o == c })
	more := len(p.waiting) > 0
	p.mu.Unlock()
	if more {
		p.dispatch()
	}
}

// cancel takes an answer away that waits.
func (p *h2Pool) cancel(a answer, f *failure) {
	p.mu.Lock()
	n := len(p.waiting)
	p.waiting = slices.DeleteFunc(p.waiting, func(j h2Job) bool { return j.a == a })
	found := len(p.waiting) < n
	p.mu.Unlock()
	if found {
		a.fail(f, p.dialer.now())
	}
}

func (p *h2Pool) close() {
	p.mu.Lock()
	p.closed = true
	p.dialer.stop()
	waiting := p.waiting
	p.waiting = nil
	conns := slices.Clone(p.conns)
	p.mu.Unlock()
	for _, job := range waiting {
		job.a.fail(gaveUp(), p.dialer.now())
	}
	for _, c := range conns {
		c.hangUp()
	}
	p.wg.Wait()
}
