//go:build linux && (amd64 || arm64)

package fast

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/load"
	"assay/internal/wire"
)

// loop is one event loop: a thread, an epoll, and the streams that it opens. Nothing
// of it is touched by anybody else but wake, and the atomics of its run.
type loop struct {
	run   *run
	plan  *load.Plan
	sink  load.Sink
	index int
	poll  *poller
	recv  *receiver
	clock clock

	classes []class
	streams slab[stream]
	extras  map[int32]*extra
	cuts    cuts

	dialer    dialer
	conns     slab[conn]
	idle      []uint64 // the keys of idle connections
	idleCalls []uint64
	dialing   int
	waiting   queue[waiter] // for a dial
	again     []uint64      // connections that were not read to the end
	reading   []uint64      // those of the last turn
	slows     map[int32]*slow
	// cautious: the gateway was seen to close a connection that was idle.
	cautious bool

	mux *muxes // of HTTP/2

	calls      queue[*call]
	calling    int
	callNumber int64
	sweeping   int
	swept      map[uint32]bool // processes that a sweep has killed
	leftOpen   []leftOpen

	schedule schedule

	reads     uint32 // counts reads
	unstamped int    // reads without the kernel's stamp that the sink has not been told of
	noticed   int64  // when the present batch of events was noticed
	now       int64  // when the present read was made
	at        int64  // when its bytes came in
	touched   []touch
	gaps      gaps
	resting   rest
	endings   int // streams that ended in the present turn
	events    int // of output, in the present turn
	bytes     int

	scanAt   int64 // when deadlines are looked at next
	lookout  load.Lookout
	scanPage int32
	wakeFD   int32
	woken    atomic.Bool
	unread   unread

	scratch     []byte
	spareExtras []*extra
	spareSlow   []*slow
}

// class is a class of the plan, and what the loop knows about it.
type class struct {
	load.Class

	request *load.Encoded
	same    *load.SameOutput
	ndjson  bool
	grpc    bool
	web     bool
	json    bool // the codec
	parts   bool // some of its streams are killed or hung up on
	endFlag byte

	known    knownHead
	endBytes []byte // the last end event that the strict decoder took
	endCode  int32
}

func newClass(c load.Class, request *load.Encoded, same *load.SameOutput) class {
	k := class{
		Class: c, request: request, same: same,
		ndjson: c.Dialect.Protocol == load.ProtocolNDJSON, grpc: c.Dialect.Protocol == load.ProtocolGRPC,
		web: c.Dialect.Protocol == load.ProtocolWeb, json: c.Dialect.Codec == load.CodecJSON,
		parts: c.KillShare > 0 || c.DisconnectShare > 0 || c.Hold > 0,
	}
	switch c.Dialect.Framing() {
	case wire.Connect:
		k.endFlag = wire.FlagEndStream
	case wire.GRPCWeb:
		k.endFlag = wire.FlagTrailer
	case wire.GRPC:
	}
	return k
}

func (l *loop) class(s *stream) *class { return &l.classes[s.class] }

// encoded is the request of a stream.
func (l *loop) encoded(i int32, s *stream) *load.Encoded {
	if s.has(flagCall) {
		return l.extras[i].call.request
	}
	return l.class(s).request
}

// waiter is a stream that waits; its number tells whether it still does.
type waiter struct {
	stream int32
	number int64
}

// waits reports whether a waiter still waits.
func (l *loop) waits(w waiter) bool {
	s := l.streams.at(w.stream)
	return s.number == w.number && s.phase == phaseWaiting && s.conn == none && s.mux == none
}

// record adds what was measured of a stream; DriverLag is of none, and has class 0.
func (l *loop) record(class uint16, m load.Metric, ns int64) {
	l.sink.Record(l.index, int(class), m, max(time.Duration(ns), 0))
}

// opening says that a stream is about to be opened.
func (l *loop) opening(s *stream) {
	if !s.has(flagCall | flagOpened) {
		s.set(flagOpened)
		l.sink.Opening()
	}
}

// arrived says that bytes were read, with the kernel's stamp.
func (l *loop) arrived(stamp int64) {
	l.reads++
	l.now = l.clock.now()
	from, stamped := l.clock.arrived(stamp, l.now)
	l.at = from
	if !stamped {
		l.unstamped++
		from = l.noticed
	}
	l.record(0, load.DriverLag, l.now-from)
}

// started takes a start event.
func (l *loop) started(i int32, s *stream, pid uint32) {
	s.pid = pid
	s.phase, s.since = phaseLive, l.at
	l.sink.Started()
	l.record(s.class, load.FirstEvent, l.at-s.intended)
	l.record(s.class, load.FromSent, l.at-s.sent)
	c := l.class(s)
	if c.Stdin != nil {
		l.queueInput(i, s)
	}
	switch {
	case l.ending(s):
		l.requestKill(i, s)
	case c.parts:
		if p := l.plan.Stream(s.number); p.Kill || p.Disconnect {
			l.schedule.timers.push(timer{at: l.at + int64(p.After), stream: i, number: s.number})
		}
	}
}

// giveUp ends a stream, or a call, from outside.
func (l *loop) giveUp(i int32, s *stream, f *failure) {
	if s.phase == phaseFree || s.phase == phaseOver {
		return
	}
	if x := l.extra(i, s); x.given == nil {
		x.given = f
	}
	l.at = l.clock.now()
	switch {
	case s.conn != none:
		l.lose(s.conn, l.conns.at(s.conn), f)
	case s.mux != none:
		l.mux.cancel(i, s, f)
	default:
		l.fail(i, s, f)
	}
}

// open sends the request of a stream.
func (l *loop) open(i int32, s *stream) {
	if l.mux != nil {
		l.mux.open(i, s)
		return
	}
	l.openH1(i, s)
}

// turn waits for at most d, and does all that has come up.
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
	l.tend(now)
	l.scan(now)
	l.startCalls()
	l.serveWaiting()
	if l.mux != nil {
		l.mux.flush()
	}
	l.settleUnread(l.endings)
	if l.events > 0 {
		l.sink.Output(l.index, l.events, l.bytes)
		l.events, l.bytes = 0, 0
	}
	if l.unstamped > 0 {
		l.sink.Unstamped(l.unstamped)
		l.unstamped = 0
	}
	if n := l.gaps.unsaid; n > 0 {
		l.sink.Coalesced(n)
		l.gaps.unsaid = 0
	}
	return nil
}

// The keys of epoll: a connection of HTTP/1.1 has its index and generation; the others
// have these bits in place of the index.
const (
	keyWake = uint32(1 << 31)
	keyMux  = uint32(1 << 30)
)

// dispatch hands an event to whom it is for.
func (l *loop) dispatch(k uint64, what uint32) {
	switch id := uint32(k); {
	case id&keyWake != 0:
		l.woken.Store(false)
		var count [8]byte
		_, _ = unix.Read(int(l.wakeFD), count[:])
	case id&keyMux != 0:
		l.mux.event(id&^keyMux, uint32(k>>32), what)
	default:
		if c := l.conns.at(int32(id)); c.gen == uint32(k>>32) && c.state != connFree { //nolint:gosec // an index
			l.connEvent(int32(id), c, what) //nolint:gosec // an index
		}
	}
}

// readAgain reads on where there was more than one turn's share.
func (l *loop) readAgain() {
	if len(l.again) == 0 {
		return
	}
	l.again, l.reading = l.reading[:0], l.again
	for _, k := range l.reading {
		l.dispatch(k, unix.EPOLLIN|unix.EPOLLRDHUP)
	}
}

// serveWaiting gives streams that wait for a connection one, as far as dials are allowed.
func (l *loop) serveWaiting() {
	for l.waiting.len() > 0 && (l.dialing < load.DialsAtOnce || len(l.idle) > 0) {
		w := l.waiting.pop()
		if !l.waits(w) {
			continue
		}
		l.openH1(w.stream, l.streams.at(w.stream))
		if n := l.waiting.len(); n > 0 && l.waiting.items[len(l.waiting.items)-1] == w {
			return // it waits again: the idle connections were none
		}
	}
}

// wake ends the loop's wait; it may be called by anybody.
func (l *loop) wake() {
	if !l.woken.Swap(true) {
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		_, _ = unix.Write(int(l.wakeFD), one[:])
	}
}

// scanEvery is how often a part of the deadlines is looked at; all of them are within
// load.WatchEvery.
const (
	scanEvery = load.WatchEvery / scanParts
	scanParts = 4
	// awayFor is how late a look may be; more is the driver's own delay, which nothing
	// that came in may show.
	awayFor = int64(2 * time.Millisecond)
)

// scan looks at the deadlines of a part of the streams, in the order of their entries.
// A stream whose deadline is over is found at most load.WatchEvery late.
func (l *loop) scan(now int64) {
	if now < l.scanAt {
		return
	}
	if late := now - l.scanAt; l.scanAt > 0 && late > awayFor {
		l.record(0, load.DriverLag, late)
	}
	l.scanAt = now + int64(scanEvery)
	if !l.lookout.Look(time.Duration(now), scanEvery) {
		return
	}
	pages := int32(len(l.streams.pages)) //nolint:gosec // a few hundred
	for range (pages + scanParts - 1) / scanParts {
		l.scanPage++
		if l.scanPage >= pages {
			l.scanPage = 0
		}
		l.scanStreams(l.scanPage, now)
	}
	l.scanDials(now)
	if l.mux != nil {
		l.mux.scan(now)
	}
}

func (l *loop) scanStreams(page int32, now int64) {
	for j := range l.streams.pages[page] {
		s := &l.streams.pages[page][j]
		if s.phase == phaseFree || s.phase == phaseOver {
			continue
		}
		i := page<<pageBits + int32(j) //nolint:gosec // an index
		f := l.overdue(s, now)
		if f != nil {
			l.giveUp(i, s, f)
		}
	}
}

// scanDials gives up dials that take too long.
func (l *loop) scanDials(now int64) {
	if l.dialing == 0 {
		return
	}
	for ci := range l.conns.used {
		if c := l.conns.at(ci); c.state == connDialing && now > c.deadline {
			l.at = now
			l.lose(ci, c, l.dialTimeout())
		}
	}
}

// close ends every connection.
func (l *loop) close() {
	for ci := range l.conns.used {
		if c := l.conns.at(ci); c.state != connFree {
			l.closeConn(ci, c)
		}
	}
	if l.mux != nil {
		l.mux.close()
	}
	closeSocket(l.wakeFD)
	l.poll.close()
}
