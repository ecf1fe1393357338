//go:build linux && (amd64 || arm64)

package fast

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"golang.org/x/sys/unix"

	"assay/internal/base/machine"
	"assay/internal/base/tlsloop"
	"assay/internal/load"
	"assay/internal/load/account"
	"assay/internal/record/bundle"
	"assay/internal/wire/h2"
)

const (
	// muxWindow is how much the peer may send unacknowledged on a stream, and muxConnWindow
	// on all streams of a connection: so much that the gateway never waits for a late loop.
	muxWindow     = 1 << 20
	muxConnWindow = 1 << 30
	// muxLastID ends the use of a connection before stream ids run out.
	muxLastID = 1 << 30
	// muxWriteTimeout bounds the time in which the peer reads nothing.
	muxWriteTimeout = 10 * time.Second
	// maxHeaderList is the longest accepted list of fields.
	maxHeaderList = 64 << 10
)

// muxState is the state of an HTTP/2 connection.
type muxState uint8

const (
	muxDialing  muxState = iota
	muxSecuring          // the TLS handshake
	muxShaking           // the preface is sent, the peer's SETTINGS have not come
	muxOpen
	muxDead
)

// mux is one HTTP/2 connection. DATA frames and known header blocks are read in place;
// every other frame goes through the Framer of x/net.
type mux struct {
	in       *muxes
	pool     *muxPool
	fd       int32
	tls      *tlsloop.Conn
	gen      uint32
	index    uint32
	state    muxState
	dirty    bool  // it is in muxes.dirty
	most     int64 // streams that the peer allows
	deadline int64 // of dial and handshake
	stuck    int64 // when writing began to block; 0 when it does not

	ids     idTable
	nextID  uint32
	window  int64 // bytes that the peer allows on the connection
	initial int64 // the window of a new stream
	table   h2.FieldTable
	pending []pending
	unacked int // bytes of DATA of all streams that are not acknowledged
	out     []byte
	cut     []byte // an incomplete frame
	block   []byte // the frames of an incomplete header block

	framer *http2.Framer
	source source
	heads  headMemo
}

// pending is the rest of a request body that waits for a window.
type pending struct {
	stream int32
	id     uint32
	window int64 // of the stream
	body   []byte
}

// source is the reader of a Framer: whole frames in memory.
type source struct{ p []byte }

// Read returns the rest, and then io.ErrUnexpectedEOF.
func (s *source) Read(p []byte) (int, error) {
	if len(s.p) == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, s.p)
	s.p = s.p[n:]
	return n, nil
}

func newMux(in *muxes, p *muxPool, fd int32, gen uint32) *mux {
	c := &mux{in: in, pool: p, fd: fd, gen: gen, most: 1 << 31, nextID: 1, window: h2.DefaultWindow, initial: h2.DefaultWindow}
	c.framer = http2.NewFramer(io.Discard, &c.source)
	c.framer.SetReuseFrames()
	c.framer.SetMaxReadFrameSize(h2.DefaultMaxFrame)
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.framer.MaxHeaderListSize = maxHeaderList
	return c
}

// touch schedules the connection's output for the end of the turn.
func (c *mux) touch() {
	if !c.dirty && c.state != muxDead {
		c.dirty = true
		c.in.dirty = append(c.in.dirty, c)
	}
}

// dialled ends the dial; it returns true if there is a connection.
func (c *mux) dialled() bool {
	l := c.in.l
	if err := dialError(c.fd); err != nil {
		l.streams.Reading(l.clock.now())
		c.die(account.Dial(err, l.plan.Limits.Connect))
		return false
	}
	l.streams.Connected(l.sinceDial(c.deadline))
	if l.shakes.config != nil {
		c.state, c.tls = muxSecuring, l.secure(c.fd, c.key())
		return true
	}
	c.greet()
	return true
}

// settled continues when the TLS handshake is over.
func (c *mux) settled(h shaken) {
	l := c.in.l
	l.streams.Reading(l.clock.now())
	early, f := l.over(c.tls, h)
	if f != nil {
		c.die(f)
		return
	}
	c.greet()
	c.received(early)
}

// greet sends the preface and our SETTINGS.
func (c *mux) greet() {
	l := c.in.l
	c.state = muxShaking
	c.deadline = l.clock.now() + int64(l.plan.Limits.FirstEvent)
	c.out = append(c.out, http2.ClientPreface...)
	c.out = h2.AppendSettings(c.out, http2.Setting{ID: http2.SettingEnablePush}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: muxWindow})
	c.out = h2.AppendWindowUpdate(c.out, 0, muxConnWindow-h2.DefaultWindow)
	c.touch()
}

// shaken opens the connection when the peer's SETTINGS have come.
func (c *mux) shaken() {
	c.state = muxOpen
	c.pool.dialing--
	c.pool.conns = append(c.pool.conns, c)
	c.pool.room = int(min(c.most, 1<<31))
}

// overdue returns the failure of a connection that is overdue at this time, or nil.
func (c *mux) overdue(now int64) *account.Failure {
	lim := &c.in.l.plan.Limits
	switch {
	case c.state == muxDialing && now > c.deadline:
		return account.ConnectTimeout(lim.Connect)
	case c.state == muxSecuring && now > c.deadline:
		return account.NoHandshake(lim.Connect)
	case c.state == muxShaking && now > c.deadline:
		return account.NoSettings(lim.FirstEvent)
	case c.stuck != 0 && time.Duration(now-c.stuck) > muxWriteTimeout:
		return &account.Failure{Outcome: bundle.StreamReset, Detail: fmt.Sprintf("the peer read nothing for %v while requests were sent", muxWriteTimeout)}
	}
	return nil
}

// begin sends a request.
func (c *mux) begin(i int32, s *account.Stream) {
	l := c.in.l
	req := l.encoded(i, s)
	s.ID, s.Unacked = c.nextID, 0
	c.nextID += 2
	c.ids.add(s.ID, i)
	c.out = h2.Block{Stream: s.ID, Fields: c.table.Block(req.block), EndStream: len(req.body) == 0}.Append(c.out, h2.DefaultMaxFrame)
	c.send(pending{stream: i, id: s.ID, window: c.initial, body: req.body})
	s.Heard()                         // the handshake had bytes
	l.streams.Sent(s, int32(c.index)) //nolint:gosec // a handful of connections
	if c.nextID > muxLastID {
		c.retire(nil)
	}
	c.touch()
}

// send sends as much of a request's body as the windows allow.
func (c *mux) send(p pending) {
	for len(p.body) > 0 {
		n := min(int64(len(p.body)), p.window, c.window, h2.DefaultMaxFrame)
		if n <= 0 {
			c.pending = append(c.pending, p)
			return
		}
		rest := p.body[n:]
		c.out = h2.AppendData(c.out, p.id, p.body[:n], len(rest) == 0)
		p.body = rest
		p.window -= n
		c.window -= n
	}
}

// drop forgets a stream, with the unsent rest of its request.
func (c *mux) drop(id uint32) {
	c.ids.remove(id)
	if len(c.pending) > 0 {
		c.pending = slices.DeleteFunc(c.pending, func(p pending) bool { return p.id == id })
	}
}

// resume sends request bodies that waited for a window.
func (c *mux) resume() {
	if len(c.pending) == 0 {
		return
	}
	waiting := c.pending
	c.pending = nil
	for _, p := range waiting {
		c.send(p)
	}
	c.touch()
}

// flush writes the gathered output.
func (c *mux) flush() {
	if c.state == muxDead || !c.unwritten() || c.stuck != 0 {
		return
	}
	n, e := transmit(c.fd, c.tls, c.out)
	if e != 0 && e != unix.EAGAIN {
		c.in.l.streams.Reading(c.in.l.clock.now())
		c.die(account.Broken(e, "while requests were sent"))
		return
	}
	if e != 0 {
		n = 0
	}
	rest := copy(c.out, c.out[n:])
	if c.out = c.out[:rest]; c.unwritten() { // epoll reports when there is room again
		c.stuck = c.in.l.clock.now()
	} else if cap(c.out) > keptOut {
		c.out = nil
	}
}

// unwritten reports whether output waits.
func (c *mux) unwritten() bool { return len(c.out) > 0 || c.tls.Pending() }

// keptOut bounds the output buffer of an idle connection.
const keptOut = 256 << 10

// read reads the connection. more says that an end or error follows the bytes.
func (c *mux) read(more bool) {
	l := c.in.l
	for range readsAtOnce {
		n, stamp, e := l.recv.read(c.fd)
		if e == unix.EAGAIN {
			return
		}
		l.arrived(stamp)
		switch {
		case e != 0 && machine.Exhausted(e):
			c.die(account.Broken(e, account.InsideAnswer))
			return
		case e != 0:
			c.die(c.closed(e.Error()))
			return
		case n == 0 && c.tls.CutOff():
			c.die(c.closed("EOF without the close_notify of TLS"))
			return
		case n == 0:
			c.die(c.closed("EOF"))
			return
		}
		c.received(l.recv.buf[:n])
		if c.state == muxDead || n < len(l.recv.buf) && !more {
			return
		}
	}
	l.again = append(l.again, c.key())
}

// received handles bytes of the connection.
func (c *mux) received(p []byte) {
	l := c.in.l
	var err error
	if c.tls != nil {
		l.plain, err = c.tls.Open(l.plain[:0], p)
		p = l.plain
	}
	c.feed(p)
	l.streams.EndRead(l.streams.Several() && l.now-l.at > int64(vagueFrom+l.resting.longest(l.streams.Open())))
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		c.die(c.closed("EOF"))
	default:
		c.die(account.Broken(err, account.InsideAnswer))
	}
}

// closed returns the failure of a connection that was closed.
func (c *mux) closed(reason string) *account.Failure {
	if c.state == muxShaking {
		return account.ClosedUnsettled(c.tls != nil)
	}
	return account.ClosedH2(reason)
}

// key returns the connection's key in epoll.
func (c *mux) key() uint64 { return uint64(c.index|keyMux) | uint64(c.gen)<<32 }

// vagueFrom is how late a read with events of several streams may be. Within it, the stamp
// of the last segment counts for all of them: the error of a gap is at most vagueFrom plus
// the nap. Beyond it, the gaps are unknown.
const vagueFrom = 2 * time.Millisecond

// die ends the connection and fails every stream on it. f is nil only without streams.
func (c *mux) die(f *account.Failure) {
	if c.state == muxDead {
		return
	}
	l := c.in.l
	opened := c.state == muxOpen
	c.state = muxDead
	c.tls.End()
	closeSocket(c.fd)
	c.in.all[c.index] = nil
	if opened {
		c.retire(f)
	} else {
		c.pool.dialing--
	}
	c.ids.each(func(_ uint32, i int32) {
		one := *f // each stream may change its failure
		l.streams.Fail(i, l.streams.At(i), &one)
	})
	c.ids, c.pending = idTable{}, nil
	if !opened {
		c.in.undialled(c.pool, f)
	}
}

// retire removes the connection from its pool: it gets no more streams. f is why; it counts as the
// failure of a dial if the connection took no request at all.
func (c *mux) retire(f *account.Failure) {
	c.most = 0
	c.pool.conns = slices.DeleteFunc(c.pool.conns, func(o *mux) bool { return o == c })
	if c.nextID == 1 {
		c.in.undialled(c.pool, f)
	}
}

// closeDrained closes a retired connection that has no streams left.
func (c *mux) closeDrained() {
	if c.state == muxOpen && c.nextID > muxLastID && c.ids.len() == 0 && !c.unwritten() {
		c.die(nil)
	}
}

// framed handles an error of the Framer. A breach on one stream does not affect the others.
func (c *mux) framed(err error) *account.Failure {
	var stream http2.StreamError
	switch {
	case errors.As(err, &stream):
		c.heads.forget() // the Framer has decoded the block, which may have changed the table
		detail := fmt.Sprintf("the frame breaks HTTP/2: %v", stream.Code)
		if cause := c.framer.ErrorDetail(); cause != nil {
			detail += ": " + cause.Error()
		}
		if i := c.ids.find(stream.StreamID); i != account.None {
			c.out = h2.AppendReset(c.out, stream.StreamID, stream.Code)
			c.touch()
			c.drop(stream.StreamID)
			c.in.l.streams.Fail(i, c.in.l.streams.At(i), account.Breach("%s", detail))
		}
		return nil
	case c.state == muxShaking:
		return account.NoHTTP(load.H2C, err.Error())
	}
	return account.Breach("the connection breaks HTTP/2: %v", err)
}
