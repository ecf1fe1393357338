//go:build linux && (amd64 || arm64)

package fast

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/load"
	"assay/internal/load/account"
)

// loop is one event loop: a thread, an epoll, and the connections of the streams that it
// opens. Other goroutines call only Wake.
type loop struct {
	plan    *load.Plan
	sink    load.Sink
	poll    *poller
	recv    *receiver
	clock   clock
	streams *account.Streams
	others  int         // loops beside this one
	starts  []*encoded  // the Start requests, by Stream.Request
	known   []knownHead // of the last good response, by Stream.Request

	dialer    dialer
	conns     account.Slab[conn]
	idle      []uint64 // the keys of idle connections
	idleCalls []uint64
	dialing   int
	waiting   account.Queue[account.Waiter] // for a dial
	again     []uint64                      // connections with more bytes to read
	reading   []uint64                      // those that readAgain reads now
	slows     map[int32]*slow
	outs      map[int32][]byte // what Write could not send yet
	// cautious: the gateway has closed an idle connection.
	cautious bool

	mux *muxes // HTTP/2

	shakes shakes
	plain  []byte // what the present read holds under TLS

	reads     uint32
	unstamped int   // reads without the kernel's stamp that the sink does not know yet
	noticed   int64 // when the present batch of events was noticed
	now       int64 // when the present read was made
	at        int64 // when its bytes arrived
	resting   rest
	endings   int // streams that ended in the present turn
	wakeFD    int32
	woken     atomic.Bool
	unread    unread
	spareSlow []*slow
}

var _ account.Driver = (*loop)(nil)

// Open sends the request of an entry.
func (l *loop) Open(i int32, s *account.Stream) {
	if s.IsCall() {
		c := l.streams.Call(i)
		c.Wire = encode(c.Request, l.plan)
	}
	if l.mux != nil {
		l.mux.open(i, s)
		return
	}
	l.openH1(i, s)
}

// Cancel ends the exchange of an entry.
func (l *loop) Cancel(_ int32, s *account.Stream) {
	switch {
	case s.Conn == account.None: // the queue skips it: see Streams.Waits
	case l.mux != nil:
		l.mux.cancel(s)
	default:
		l.closeConn(s.Conn, l.conns.At(s.Conn))
	}
}

// Waiting returns why a request still waits, if that is the gateway's failure.
func (l *loop) Waiting(s *account.Stream, waited time.Duration) *account.Failure {
	switch {
	case l.mux != nil:
		return l.mux.waiting(l.mux.pool(s), waited)
	case s.Conn != account.None && l.conns.At(s.Conn).state == connSecuring:
		return account.NoHandshake(waited)
	case s.Conn != account.None: // its dial
		return account.ConnectTimeout(waited)
	}
	return nil
}

// encoded returns the request of an entry.
func (l *loop) encoded(i int32, s *account.Stream) *encoded {
	if s.IsCall() {
		req, _ := l.streams.Call(i).Wire.(*encoded)
		return req
	}
	return l.starts[s.Request()]
}

// arrived begins a read of bytes with the kernel's stamp.
func (l *loop) arrived(stamp int64) {
	l.reads++
	l.now = l.clock.now()
	from, stamped := l.clock.arrived(stamp, l.now)
	l.at = from
	l.streams.Reading(from)
	if !stamped {
		l.unstamped++
		from = l.noticed
	}
	l.streams.Lag(l.now - from)
}

// turn waits for events, for at most d, and does everything that is due.
func (l *loop) turn(d time.Duration) error {
	events, err := l.poll.wait(d)
	if err != nil {
		return err
	}
	l.noticed = l.clock.now()
	for i := range events {
		l.dispatch(key(&events[i]), events[i].Events)
	}
	l.readAgain()
	now := l.clock.now()
	l.streams.Tend(now)
	l.scan(now)
	l.streams.StartCalls()
	l.serveWaiting()
	if l.mux != nil {
		l.mux.flush()
	}
	l.endings = l.streams.TakeEnded()
	l.endUnread(l.endings)
	l.streams.Tell()
	if l.unstamped > 0 {
		l.sink.Unstamped(l.unstamped)
		l.unstamped = 0
	}
	return nil
}

// pause returns how long the loop may wait for events.
func (l *loop) pause() time.Duration {
	if len(l.again) > 0 {
		return 0
	}
	return l.streams.Pause(l.clock.now())
}

// The keys of epoll. A key has an index in its low half and a generation in its high half.
// These bits of the low half mark the wake descriptor and HTTP/2 connections.
const (
	keyWake = uint32(1 << 31)
	keyMux  = uint32(1 << 30)
)

// dispatch passes an event to the connection of its key.
func (l *loop) dispatch(k uint64, what uint32) {
	switch id := uint32(k); {
	case id&keyWake != 0:
		l.woken.Store(false)
		var count [8]byte
		_, _ = unix.Read(int(l.wakeFD), count[:])
		l.settle()
	case id&keyMux != 0:
		l.mux.event(id&^keyMux, uint32(k>>32), what)
	default:
		if c := l.conns.At(int32(id)); c.gen == uint32(k>>32) && c.state != connFree { //nolint:gosec // an index
			l.connEvent(int32(id), c, what) //nolint:gosec // an index
		}
	}
}

// readAgain continues with connections that had more bytes than one turn reads.
func (l *loop) readAgain() {
	if len(l.again) == 0 {
		return
	}
	l.again, l.reading = l.reading[:0], l.again
	for _, k := range l.reading {
		l.dispatch(k, unix.EPOLLIN|unix.EPOLLRDHUP)
	}
}

// serveWaiting opens requests that wait for a connection, as far as dials are allowed.
func (l *loop) serveWaiting() {
	for l.waiting.Len() > 0 && (l.mayDial() || len(l.idle) > 0) {
		w := l.waiting.Pop()
		if !l.streams.Waits(w) {
			continue
		}
		l.openH1(w.Stream, l.streams.At(w.Stream))
		if l.waiting.Len() > 0 && l.waiting.Last() == w {
			return // it waits again: the idle connections were closed
		}
	}
}

// mayDial reports whether another HTTP/1.1 dial may be in flight. The loops share the limit.
func (l *loop) mayDial() bool { return l.dialing < max(load.DialsAtOnce/(1+l.others), 1) }

// Wake ends the loop's wait. Any goroutine may call it.
func (l *loop) Wake() {
	if !l.woken.Swap(true) {
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		_, _ = unix.Write(int(l.wakeFD), one[:])
	}
}

// awayFor is how late a scan may be. A longer delay is recorded as the driver's own, which
// a loop that reads nothing would not notice otherwise.
const awayFor = int64(2 * time.Millisecond)

// scan checks a part of the deadlines.
func (l *loop) scan(now int64) {
	late, counts := l.streams.Scan(now)
	if late > awayFor {
		l.streams.Lag(late)
	}
	if !counts {
		return
	}
	l.scanDials(now)
	if l.mux != nil {
		l.mux.scan(now)
	}
}

// scanDials gives up dials and TLS handshakes that take too long.
func (l *loop) scanDials(now int64) {
	if l.dialing == 0 {
		return
	}
	for ci := range l.conns.Used() {
		switch c := l.conns.At(ci); {
		case now <= c.deadline:
		case c.state == connDialing:
			l.streams.Reading(now)
			l.lose(ci, c, account.ConnectTimeout(l.plan.Limits.Connect))
		case c.state == connSecuring:
			l.streams.Reading(now)
			l.lose(ci, c, account.NoHandshake(l.plan.Limits.Connect))
		}
	}
}

// close ends every connection.
func (l *loop) close() {
	for ci := range l.conns.Used() {
		if c := l.conns.At(ci); c.state != connFree {
			l.closeConn(ci, c)
		}
	}
	if l.mux != nil {
		l.mux.close()
	}
	l.shakes.Wait() // they wake the loop
	closeSocket(l.wakeFD)
	l.poll.close()
}
