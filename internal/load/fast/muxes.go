//go:build linux && (amd64 || arm64)

package fast

import (
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/sys/unix"

	"assay/internal/load"
	"assay/internal/load/account"
	"assay/internal/wire/h2"
)

// muxes are the HTTP/2 connections of a loop. Calls have their own, so that a kill need not
// wait for room among the streams.
type muxes struct {
	l       *loop
	all     []*mux // by the index in the epoll key; nil is a closed one
	gen     uint32
	streams muxPool
	calls   muxPool
	dirty   []*mux // with output to write
}

// muxPool is a set of connections that share a load. A request goes to the connection with
// the fewest streams. No connection gets more streams than the peer's
// MAX_CONCURRENT_STREAMS; requests without room wait in order.
type muxPool struct {
	conns   []*mux
	dialing int
	wanted  int // connections to open even if the others have room
	room    int // streams that the last connection allows
	redial  account.Redial
	waiting account.Queue[account.Waiter]
}

func newMuxes(l *loop, loops int) *muxes {
	wanted := load.H2Connections(l.plan.Wanted()) // of all loops
	return &muxes{
		l: l, streams: muxPool{wanted: (wanted + loops - 1) / loops, room: load.H2Guess},
		calls: muxPool{wanted: 1, room: load.H2Guess},
	}
}

// pool returns the pool of a stream or a call.
func (m *muxes) pool(s *account.Stream) *muxPool {
	if s.IsCall() {
		return &m.calls
	}
	return &m.streams
}

// open sends the request of a stream as soon as a connection has room.
func (m *muxes) open(i int32, s *account.Stream) {
	m.l.streams.Opening(s)
	p := m.pool(s)
	p.waiting.Push(account.Waiter{Stream: i, Number: s.Number})
	m.serve(p)
}

// serve gives waiting requests to connections that have room.
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
		if c.nextID == 1 {
			p.redial.Took()
		}
		w := p.waiting.Pop()
		c.begin(w.Stream, m.l.streams.At(w.Stream))
	}
}

// freest returns the connection with the fewest streams that has room, or nil.
func (p *muxPool) freest() *mux {
	var best *mux
	for _, c := range p.conns {
		if n := int64(c.ids.len()); n < c.most && (best == nil || n < int64(best.ids.len())) {
			best = c
		}
	}
	return best
}

// grow dials as many connections as the waiting requests need. After a failure it pauses, unless
// the failure has failed every request that waited.
func (m *muxes) grow(p *muxPool, full bool) {
	if len(p.conns)+p.dialing > 0 && p.redial.Pausing(m.l.clock.now) {
		return
	}
	need := p.wanted - len(p.conns)
	if full && p.room > 0 { // with a limit of 0 streams, more connections do not help
		need = max(need, (p.waiting.Len()+p.room-1)/p.room)
	}
	loops := 1 + m.l.others // they share the limits
	need = min(need, max(load.H2Most/loops, 1)-len(p.conns), max(load.H2DialsAtOnce/loops, 1))
	for p.dialing < need && m.dial(p) {
	}
}

// dial begins to open a connection; it returns false if that fails at once.
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
	if err := l.poll.add(fd, c.key()); err != nil {
		c.die(account.Dial(err, l.plan.Limits.Connect))
		return false
	}
	return true
}

// undialled handles the failure of a dial, or of a connection that ended before it took a
// request. Without any other connection, the waiting requests fail. With one, they wait for room
// on it; if there is none, the one that waits longest fails, so that the run tells why.
func (m *muxes) undialled(p *muxPool, f *account.Failure) {
	p.redial.Failed(m.l.plan, f, m.l.clock.now())
	others := len(p.conns)+p.dialing > 0
	if others && (len(p.conns) == 0 || p.freest() != nil) {
		return
	}
	for n := p.waiting.Len(); n > 0 && (!others || !p.redial.Told()); n-- {
		w := p.waiting.Pop()
		if m.l.streams.Waits(w) {
			m.l.streams.Reading(m.l.clock.now())
			m.l.streams.Fail(w.Stream, m.l.streams.At(w.Stream), p.redial.Tell())
		}
	}
}

// waiting returns why no connection of a pool takes requests: none was opened yet, or no further
// one can be opened.
func (m *muxes) waiting(p *muxPool, waited time.Duration) *account.Failure {
	var f *account.Failure
	for _, c := range m.all {
		switch {
		case c == nil || c.pool != p:
		case c.state == muxOpen:
			return p.redial.Tell()
		case c.state == muxShaking:
			f = account.NoSettings(waited)
		case c.state == muxSecuring && f == nil:
			f = account.NoHandshake(waited)
		case f == nil:
			f = account.ConnectTimeout(waited)
		}
	}
	return f
}

// find returns the connection with an epoll key, or nil.
func (m *muxes) find(index, gen uint32) *mux {
	if int(index) >= len(m.all) || m.all[index] == nil || m.all[index].gen != gen {
		return nil
	}
	return m.all[index]
}

// event handles an event of a connection.
func (m *muxes) event(index, gen, what uint32) {
	c := m.find(index, gen)
	if c == nil {
		return
	}
	if c.state == muxDialing && !c.dialled() {
		return
	}
	if what&unix.EPOLLOUT != 0 && c.unwritten() {
		c.stuck = 0
		c.touch()
	}
	const ready = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	switch {
	case what&ready == 0:
	case c.state == muxSecuring:
		m.l.readShake(c.fd, c.tls)
	default:
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

// flush serves waiting requests and writes the output of a turn.
func (m *muxes) flush() {
	m.serve(&m.streams)
	m.serve(&m.calls)
	for n := 0; n < len(m.dirty); n++ { //nolint:intrange // a connection that dies here may append others
		c := m.dirty[n]
		c.dirty = false
		c.flush()
		c.closeDrained()
	}
	m.dirty = m.dirty[:0]
}

// scan gives up overdue connections and closes drained ones.
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
			c.tls.End()
			closeSocket(c.fd)
			m.all[n] = nil
		}
	}
}
