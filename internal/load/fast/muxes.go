//go:build linux && (amd64 || arm64)

package fast

import (
	"golang.org/x/net/http2"
	"golang.org/x/sys/unix"

	"assay/internal/load"
	"assay/internal/load/account"
	"assay/internal/wire/h2"
)

// muxes are the HTTP/2 connections of a loop: some for streams, and others for calls,
// which must not wait for room among the streams that they are to kill.
type muxes struct {
	l       *loop
	all     []*mux // by the index that epoll tells; nil where one is closed
	gen     uint32
	streams muxPool
	calls   muxPool
	dirty   []*mux // with something to write
}

// muxPool is connections that share a load. A request goes to the connection with the
// fewest streams; the other side's MAX_CONCURRENT_STREAMS is kept, and what finds no
// room waits in order.
type muxPool struct {
	conns   []*mux
	dialing int
	wanted  int // connections to have before they are full
	room    int // streams that the last connection said it takes
	waiting account.Queue[account.Waiter]
}

func newMuxes(l *loop, loops int) *muxes {
	streams := (l.plan.Wanted() + loops - 1) / loops
	return &muxes{
		l: l, streams: muxPool{wanted: max(load.H2Connections(streams)/loops, 1), room: load.H2Guess},
		calls: muxPool{wanted: 1, room: load.H2Guess},
	}
}

// pool is the pool of a stream or a call.
func (m *muxes) pool(s *account.Stream) *muxPool {
	if s.IsCall() {
		return &m.calls
	}
	return &m.streams
}

// open sends the request of a stream, when there is room.
func (m *muxes) open(i int32, s *account.Stream) {
	m.l.streams.Opening(s)
	p := m.pool(s)
	p.waiting.Push(account.Waiter{Stream: i, Number: s.Number})
	m.serve(p)
}

// serve gives waiting requests to connections, as far as there is room.
func (m *muxes) serve(p *muxPool) {
	for p.waiting.Len() > 0 {
		if w := p.waiting.Peek(); !m.l.streams.Waits(w) {
			p.waiting.Pop()
			continue
		}
		c := p.freest()
		if c == nil || len(p.conns)+p.dialing < p.wanted {
			m.grow(p, c == nil)
		}
		if c == nil {
			return
		}
		w := p.waiting.Pop()
		c.begin(w.Stream, m.l.streams.At(w.Stream))
	}
}

// freest is the connection with the fewest streams that has room, or nil.
func (p *muxPool) freest() *mux {
	var best *mux
	for _, c := range p.conns {
		if n := int64(c.ids.len()); n < c.most && (best == nil || n < int64(best.ids.len())) {
			best = c
		}
	}
	return best
}

// grow dials as many connections as the waiting requests need.
func (m *muxes) grow(p *muxPool, full bool) {
	need := p.wanted - len(p.conns)
	if full && p.room > 0 { // one that takes no streams at all is not helped by more
		need = max(need, (p.waiting.Len()+p.room-1)/p.room)
	}
	need = min(need, load.H2Most-len(p.conns), load.H2DialsAtOnce)
	for p.dialing < need && m.dial(p) {
	}
}

// dial begins to open a connection.
func (m *muxes) dial(p *muxPool) bool {
	l := m.l
	fd, err := l.dialer.connect()
	if err != nil {
		m.undialled(p, account.Dial(err, l.plan.Limits.Connect))
		return false
	}
	m.gen++
	c := newMux(m, p, fd, m.gen)
	c.deadline = l.clock.now() + int64(l.plan.Limits.Connect)
	p.dialing++
	for c.index = 0; int(c.index) < len(m.all) && m.all[c.index] != nil; {
		c.index++
	}
	if int(c.index) == len(m.all) {
		m.all = append(m.all, nil)
	}
	m.all[c.index] = c
	if err := l.poll.add(fd, uint64(c.index|keyMux)|uint64(c.gen)<<32); err != nil {
		c.die(account.Dial(err, l.plan.Limits.Connect))
		return false
	}
	return true
}

// undialled takes the failure of a dial. Without any other connection, the waiting
// requests fail.
func (m *muxes) undialled(p *muxPool, f *account.Failure) {
	if len(p.conns) > 0 || p.dialing > 0 {
		return
	}
	for n := p.waiting.Len(); n > 0; n-- {
		w := p.waiting.Pop()
		if m.l.streams.Waits(w) {
			m.l.streams.Reading(m.l.clock.now())
			one := *f // each may be changed
			m.l.streams.Fail(w.Stream, m.l.streams.At(w.Stream), &one)
		}
	}
}

// event is called when something happened on a connection.
func (m *muxes) event(index, gen, what uint32) {
	if int(index) >= len(m.all) || m.all[index] == nil || m.all[index].gen != gen {
		return
	}
	c := m.all[index]
	if c.state == muxDialing && !c.dialled() {
		return
	}
	if what&unix.EPOLLOUT != 0 && len(c.out) > 0 {
		c.stuck = 0
		c.touch()
	}
	const ready = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if what&ready != 0 {
		c.read(what&(ready&^unix.EPOLLIN) != 0)
	}
}

// cancel resets the stream of a request.
func (m *muxes) cancel(s *account.Stream) {
	c := m.all[s.Conn]
	c.out = h2.AppendReset(c.out, s.ID, http2.ErrCodeCancel)
	c.touch()
	c.drop(s.ID)
}

// flush writes the output of a turn, and gives free room to requests that wait.
func (m *muxes) flush() {
	m.serve(&m.streams)
	m.serve(&m.calls)
	for n := 0; n < len(m.dirty); n++ { //nolint:intrange // what dies on the way may make others dirty, which are then behind n
		c := m.dirty[n]
		c.dirty = false
		c.flush()
		c.closeDrained()
	}
	m.dirty = m.dirty[:0]
}

// scan gives up connections that take too long to open, and those that take nothing.
func (m *muxes) scan(now int64) {
	for _, c := range m.all {
		if c != nil {
			if f := c.overdue(now); f != nil {
				m.l.streams.Reading(now)
				c.die(f)
			}
			c.closeDrained()
		}
	}
}

func (m *muxes) close() {
	for n, c := range m.all {
		if c != nil {
			closeSocket(c.fd)
			m.all[n] = nil
		}
	}
}
