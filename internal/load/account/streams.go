package account

import (
	"time"

	"assay/internal/load"
	"assay/internal/wire"
)

// Driver sends the requests of a part of a run.
//
// For each entry that Open passes to it, the driver calls Opening when it begins with the
// request, then Sent, Head, Body for each piece of the body, and last End or Fail. It may
// call Fail at any time. The driver calls the methods of its Streams one at a time, and
// reports nothing about an entry after End, Fail or Cancel.
type Driver interface {
	// Open sends the request of an entry as soon as a connection has room.
	Open(i int32, s *Stream)
	// Cancel ends the exchange of an entry: it closes the connection of an HTTP/1.1 request,
	// resets an HTTP/2 stream, or forgets a waiting request.
	Cancel(i int32, s *Stream)
	// Waiting returns why a request still waits after a time, if that is the gateway's
	// failure: it does not accept the connection, or sends no SETTINGS on it. nil: the
	// request waits because of a limit.
	Waiting(s *Stream, waited time.Duration) *Failure
	// Wake makes the driver call Tend soon. Any goroutine may call it.
	Wake()
	// Write sends bytes on the connection of an entry whose response has switched protocols,
	// behind those that were written before. It keeps no reference to p. If skip is set and
	// more than PongRoom earlier bytes are unsent, it sends nothing. Errors show when the
	// driver reads.
	Write(i int32, s *Stream, p []byte, skip bool)
}

// Streams are the streams that one driver opens, and the unary calls about their
// processes. Its methods are not safe for concurrent use.
type Streams struct {
	run    *Run
	plan   *load.Plan
	sink   load.Sink
	index  int
	driver Driver
	now    func() int64

	classes []class
	entries Slab[Stream]
	extras  map[int32]*extra
	cuts    cuts

	calls      Queue[*Call]
	calling    int
	callNumber int64
	sweeping   int
	swept      map[process]bool // processes that the sweep has killed; true: of a WebSocket
	listed     bool             // the sweep has got a list of the processes of WebSockets
	kills      Queue[Waiter]    // to be sent over WebSockets
	leftOpen   []leftOpen

	schedule schedule
	scanAt   int64 // when deadlines are checked next
	scanPage int32
	lookout  lookout

	reads   uint32 // number of reads
	at      int64  // when the bytes of the present read arrived
	touched []touch
	gaps    gaps
	ended   int  // streams that ended since the last TakeEnded
	events  int  // output events that the sink does not know yet
	bytes   int  // their bytes
	due     bool // see TakeDue

	scratch     []byte
	frameOut    []byte // a frame to send
	payload     []byte // its payload
	spareExtras []*extra
}

// class is a class of the plan, with facts about its messages.
type class struct {
	load.Class

	same    *sameOutput
	ndjson  bool
	ws      bool
	grpc    bool
	web     bool
	json    bool // the codec
	parts   bool // some of its streams are killed or hung up on
	endFlag byte

	endBytes []byte // the last end event that the strict decoder read
	endCode  int32
}

func newClass(c load.Class, same *sameOutput) class {
	k := class{
		Class: c, same: same,
		ndjson: c.Dialect.Protocol == load.ProtocolNDJSON, grpc: c.Dialect.Protocol == load.ProtocolGRPC,
		ws: c.Dialect.Protocol == load.ProtocolWS, web: c.Dialect.Protocol == load.ProtocolWeb, json: c.Dialect.Codec == load.CodecJSON,
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

func (a *Streams) class(s *Stream) *class { return &a.classes[s.class] }

// At returns the entry with an index. Its address does not change.
func (a *Streams) At(i int32) *Stream { return a.entries.At(i) }

// Waiter identifies an entry in a queue of the driver.
type Waiter struct {
	Stream int32
	Number int64
}

// Waits reports whether the entry of a waiter still waits for a connection.
func (a *Streams) Waits(w Waiter) bool {
	s := a.entries.At(w.Stream)
	return s.Number == w.Number && s.phase == phaseWaiting && s.Conn == None
}

// Opening notes that the driver begins with a request: from here on a process may exist.
func (a *Streams) Opening(s *Stream) {
	if !s.has(flagCall | flagOpened) {
		s.set(flagOpened)
		a.sink.Opening()
	}
}

// Sent notes that a request is being sent on a connection.
func (a *Streams) Sent(s *Stream, conn int32) {
	now := a.now()
	s.Conn, s.sent, s.since, s.phase = conn, now, now, phaseSent
}

// Reading begins a read of bytes that arrived at a time. Everything reported until EndRead
// belongs to this read.
func (a *Streams) Reading(at int64) {
	a.reads++
	a.at = at
}

// EndRead ends a read and records its gaps. vague means that even events of different
// streams in the read may have arrived at different times.
func (a *Streams) EndRead(vague bool) { a.recordGaps(vague) }

// Several reports whether the present read has events of several streams.
func (a *Streams) Several() bool { return len(a.touched) > 1 }

// record adds a measured value of a stream.
func (a *Streams) record(class uint16, m load.Metric, ns int64) {
	a.sink.Record(a.index, int(class), m, max(time.Duration(ns), 0))
}

// Lag records a delay of the driver itself.
func (a *Streams) Lag(ns int64) { a.record(0, load.DriverLag, ns) }

// started handles a start event.
func (a *Streams) started(i int32, s *Stream, pid uint32) {
	s.pid = pid
	s.phase, s.since = phaseLive, a.at
	s.set(flagStarted)
	a.sink.Started()
	c := a.class(s)
	if !c.ws {
		a.measureFirst(s)
	}
	switch {
	case c.Stdin == nil:
	case c.ws:
		a.sayInput(i, s)
	default:
		a.queueInput(i, s)
	}
	switch {
	case a.ending(s):
		a.requestKill(i, s)
	case c.parts:
		if p := a.plan.Stream(s.Number); p.Kill || p.Disconnect {
			a.schedule.timers.push(timer{at: a.at + int64(p.After), stream: i, number: s.Number})
			a.due = true
		}
	}
}

// measureFirst records the latencies of the start event, or of the first message of a
// WebSocket.
func (a *Streams) measureFirst(s *Stream) {
	a.record(s.class, load.FirstEvent, a.at-s.intended)
	a.record(s.class, load.FromSent, a.at-s.sent)
}

// giveUp cancels an entry and fails it with f.
func (a *Streams) giveUp(i int32, s *Stream, f *Failure) {
	if s.phase == phaseFree || s.phase == phaseOver {
		return
	}
	if x := a.extra(i, s); x.given == nil {
		x.given = f
	}
	a.at = a.now()
	a.driver.Cancel(i, s)
	a.Fail(i, s, f)
}

// Open is the number of streams that are not over.
func (a *Streams) Open() int { return a.schedule.open }

// Calling is the number of unary calls under way.
func (a *Streams) Calling() int { return a.calling }

// TakeEnded is the number of streams that ended since the last call of TakeEnded.
func (a *Streams) TakeEnded() int {
	n := a.ended
	a.ended = 0
	return n
}

// TakeDue reports whether something became due after the last Pause: a call, a timer, a
// free place.
func (a *Streams) TakeDue() bool {
	due := a.due
	a.due = false
	return due
}

// Tell passes the events that were counted since the last Tell to the sink.
func (a *Streams) Tell() {
	if a.events > 0 {
		a.sink.Output(a.index, a.events, a.bytes)
		a.events, a.bytes = 0, 0
	}
	if n := a.gaps.unsaid; n > 0 {
		a.sink.Coalesced(n)
		a.gaps.unsaid = 0
	}
}

// scanEvery is the interval of Scan, which checks one of scanParts of the deadlines.
const (
	scanEvery = watchEvery / scanParts
	scanParts = 4
	// watchEvery is the longest delay until an overdue stream is found.
	watchEvery = 100 * time.Millisecond
)

// Scan checks a part of the entries and gives up the streams that are overdue. It returns
// how much later than planned it was called, and whether deadlines count now; if so, the
// driver checks its own deadlines too.
func (a *Streams) Scan(now int64) (late int64, counts bool) {
	if now < a.scanAt {
		return 0, false
	}
	if a.scanAt > 0 {
		late = now - a.scanAt
	}
	a.scanAt = now + int64(scanEvery)
	if !a.lookout.look(time.Duration(now), scanEvery) {
		return late, false
	}
	pages := int32(len(a.entries.pages)) //nolint:gosec // a few hundred
	for range (pages + scanParts - 1) / scanParts {
		a.scanPage++
		if a.scanPage >= pages {
			a.scanPage = 0
		}
		a.scanEntries(a.scanPage, now)
	}
	return late, true
}

func (a *Streams) scanEntries(page int32, now int64) {
	for j := range a.entries.pages[page] {
		s := &a.entries.pages[page][j]
		if s.phase == phaseFree || s.phase == phaseOver {
			continue
		}
		if f := a.overdue(s, now); f != nil {
			a.giveUp(page<<pageBits+int32(j), s, f) //nolint:gosec // an index
		}
	}
}
