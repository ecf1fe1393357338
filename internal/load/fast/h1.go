//go:build linux && (amd64 || arm64)

package fast

import (
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/tlsloop"
	"assay/internal/load/account"
)

// connState is the state of an HTTP/1.1 connection.
type connState uint8

const (
	connFree connState = iota
	connDialing
	connSecuring // the TLS handshake
	connBusy
	connIdle
)

// framing is the position of a connection in a response.
type framing uint8

const (
	atHead framing = iota // before the first byte of a head
	atSlow                // the strict decoder reads
	atSize                // in the digits of a chunk's size
	atSizeLF
	atData
	atDataCR
	atDataLF
	atEndCR // after the last chunk: the CR of the empty trailer section
	atEndLF
	atFrames // behind a 101 response
)

// conn is one connection of HTTP/1.1.
type conn struct {
	fd       int32
	stream   int32 // the stream that uses or dials it; None when idle
	remain   int64 // missing bytes of the present chunk; while its size is read, the size so far
	deadline int64 // of the dial and the TLS handshake
	tls      *tlsloop.Conn
	gen      uint32
	off      int32 // bytes of the request that are written
	unread   int32 // bytes that were peeked at and not removed
	digits   uint8
	state    connState
	framing  framing
	any      bool // a byte of the present response came
	unsent   bool // a part of the request is not written yet
	proven   bool // it has stayed open after a response
}

// key returns the connection's key in epoll.
func (c *conn) key(ci int32) uint64 { return uint64(uint32(ci)) | uint64(c.gen)<<32 } //nolint:gosec // an index

// openH1 sends the request of a stream on an idle connection or a new one. Without either,
// the request waits.
func (l *loop) openH1(i int32, s *account.Stream) {
	ci := l.popIdle(l.idleFor(s))
	switch {
	case ci != account.None:
		l.streams.Opening(s)
		c := l.conns.At(ci)
		c.state, c.stream = connBusy, i
		l.request(ci, c, s)
		s.Heard() // an earlier response had bytes
	case l.mayDial():
		l.streams.Opening(s)
		l.dial(i, s)
	default:
		l.waiting.Push(account.Waiter{Stream: i, Number: s.Number})
	}
}

// dial begins to open a connection for a stream.
func (l *loop) dial(i int32, s *account.Stream) {
	fd, err := l.dialer.connect()
	if err != nil {
		l.streams.Fail(i, s, account.Dial(err, l.plan.Limits.Connect))
		return
	}
	ci := l.conns.Take()
	c := l.conns.At(ci)
	*c = conn{fd: fd, gen: c.gen, state: connDialing, stream: i, deadline: l.clock.now() + int64(l.plan.Limits.Connect)}
	s.Conn = ci
	l.dialing++
	if err := l.poll.add(fd, c.key(ci)); err != nil {
		l.lose(ci, c, account.Dial(err, l.plan.Limits.Connect))
	}
}

// dialled is called when a dial has ended.
func (l *loop) dialled(ci int32, c *conn) {
	if err := dialError(c.fd); err != nil {
		l.lose(ci, c, account.Dial(err, l.plan.Limits.Connect))
		return
	}
	l.streams.Connected(l.sinceDial(c.deadline))
	if l.shakes.config != nil {
		c.state, c.tls = connSecuring, l.secure(c.fd, c.key(ci))
		return
	}
	l.begin(ci, c)
}

// sinceDial returns the time since the beginning of a dial with this deadline.
func (l *loop) sinceDial(deadline int64) time.Duration {
	return time.Duration(l.clock.now()-deadline) + l.plan.Limits.Connect
}

// settled continues with a connection whose TLS handshake is over.
func (l *loop) settled(ci int32, c *conn, h shaken) {
	l.streams.Reading(l.clock.now())
	early, f := l.over(c.tls, h)
	if f != nil {
		l.lose(ci, c, f)
		return
	}
	gen := c.gen
	if l.begin(ci, c); c.gen == gen {
		l.received(ci, c, early)
	}
}

// begin sends the first request of a connection.
func (l *loop) begin(ci int32, c *conn) {
	l.dialing--
	c.state = connBusy
	l.request(ci, c, l.streams.At(c.stream))
}

// request writes the request of a connection's stream.
func (l *loop) request(ci int32, c *conn, s *account.Stream) {
	c.any, c.framing, c.off, c.unsent = false, atHead, 0, false
	l.streams.Sent(s, ci)
	l.write(ci, c, s)
	l.remove(c)
}

// write writes the rest of the request.
func (l *loop) write(ci int32, c *conn, s *account.Stream) {
	if c.framing == atFrames {
		l.flushConn(ci, c)
		return
	}
	p := l.h1(c.stream, s)[c.off:]
	n, e := transmit(c.fd, c.tls, p)
	switch {
	case e == unix.EAGAIN:
		c.unsent = true
	case e != 0:
		l.lose(ci, c, account.Broken(e, account.WhileSending))
	default:
		c.off += int32(n)                        //nolint:gosec // a part of a request
		c.unsent = n < len(p) || c.tls.Pending() // epoll reports when there is room again
	}
}

// popIdle takes the idle connection that was used last, or returns None.
func (l *loop) popIdle(idle *[]uint64) int32 {
	for n := len(*idle); n > 0; n = len(*idle) {
		k := (*idle)[n-1]
		*idle = (*idle)[:n-1]
		ci := int32(uint32(k)) //nolint:gosec // an index
		c := l.conns.At(ci)
		if c.state != connIdle || c.key(ci) != k {
			continue
		}
		// A gateway may close a connection after a response without notice. Each connection
		// is checked once, or every time if one was ever closed.
		if !c.proven || l.cautious {
			l.remove(c)
			if !l.quiet(c) {
				l.cautious = true
				l.closeConn(ci, c)
				continue
			}
			c.proven = true
		}
		return ci
	}
	return account.None
}

// quiet reports whether an idle connection is open, and nothing has come. Session tickets of
// TLS count as nothing.
func (l *loop) quiet(c *conn) bool {
	for {
		n, _, e := l.recv.read(c.fd)
		if e == unix.EAGAIN {
			return true
		}
		if n == 0 || !c.tls.Silent(l.recv.buf[:n]) {
			return false
		}
	}
}

// connEvent handles an event of a connection.
func (l *loop) connEvent(ci int32, c *conn, what uint32) {
	const ready = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	gen := c.gen
	if c.tls.Pending() && what&unix.EPOLLOUT != 0 {
		_ = c.tls.Flush() // reading shows the error, too
	}
	if c.state == connDialing {
		l.dialled(ci, c)
	} else if c.state == connBusy && c.unsent && what&unix.EPOLLOUT != 0 {
		l.write(ci, c, l.streams.At(c.stream))
	}
	switch {
	case c.gen != gen || what&ready == 0:
	case c.state == connSecuring:
		l.readShake(c.fd, c.tls)
	default:
		l.readConn(ci, c, what&(ready&^unix.EPOLLIN) != 0)
	}
}

// readsAtOnce bounds the reads of one connection in a turn, so that the others need not
// wait long.
const readsAtOnce = 8

// readConn reads a connection. more says that an end or error follows the bytes.
func (l *loop) readConn(ci int32, c *conn, more bool) {
	for range readsAtOnce {
		n, stamp, e := l.take(ci, c)
		switch {
		case e == unix.EAGAIN:
			return
		case c.state == connIdle && n > 0 && c.tls.Silent(l.recv.buf[:n]):
			continue
		case c.state == connIdle:
			l.cautious = true
			l.closeConn(ci, c)
			return
		case e != 0:
			l.arrived(0)
			l.broken(ci, c, e)
			return
		case n == 0 && c.framing == atFrames: // the usual end of a WebSocket
			l.streams.Reading(l.clock.now())
			l.eof(ci, c)
			return
		case n == 0:
			l.arrived(0)
			l.eof(ci, c)
			return
		}
		l.arrived(stamp)
		if !l.received(ci, c, l.recv.buf[:n]) || n < len(l.recv.buf) && !more {
			return
		}
	}
	l.again = append(l.again, c.key(ci))
}

// received handles bytes of a busy connection. It returns false when the connection is
// closed.
func (l *loop) received(ci int32, c *conn, p []byte) bool {
	gen := c.gen
	var err error
	if c.tls != nil {
		l.plain, err = c.tls.Open(l.plain[:0], p)
		p = l.plain
	}
	if len(p) > 0 {
		l.feed(ci, c, p)
	}
	l.streams.EndRead(false)
	switch {
	case c.gen != gen:
		return false
	case err == nil:
		return true
	case c.state == connIdle:
		l.cautious = true
		l.closeConn(ci, c)
	case errors.Is(err, io.EOF):
		l.streams.Reading(l.clock.now())
		l.eof(ci, c)
	default:
		l.streams.Reading(l.clock.now())
		l.broken(ci, c, err)
	}
	return false
}

// broken fails the stream of a connection with an error.
func (l *loop) broken(ci int32, c *conn, err error) {
	when := account.InsideAnswer
	if !c.any {
		when = account.BeforeAnswer
	}
	l.lose(ci, c, account.Broken(err, when))
}

// feed handles bytes of a response.
func (l *loop) feed(ci int32, c *conn, p []byte) {
	i := c.stream
	s := l.streams.At(i)
	if !c.any {
		c.any = true
		s.Heard()
	}
	gen := c.gen
	for len(p) > 0 && c.state == connBusy && c.stream == i && c.gen == gen {
		switch c.framing {
		case atHead:
			p = l.feedHead(ci, c, s, p)
		case atSlow:
			p = l.feedSlow(ci, c, p)
		case atData:
			n := min(c.remain, int64(len(p)))
			c.remain -= n
			if c.remain == 0 {
				c.framing = atDataCR
			}
			l.streams.Body(i, s, p[:n])
			p = p[n:]
		case atFrames:
			l.streams.Body(i, s, p)
			return
		default:
			p = l.feedChunk(ci, c, s, p)
		}
	}
}

// feedHead reads a head in place if it equals that of the last good response, apart from
// the date; any other goes to the strict decoder.
func (l *loop) feedHead(ci int32, c *conn, s *account.Stream, p []byte) []byte {
	if !s.IsCall() {
		k := &l.known[s.Request()]
		if n := k.match(p); n > 0 && k.accept > 0 {
			if l.streams.GoodSwitch(c.stream, s, p[k.accept:k.accept+acceptSize]) {
				c.framing = atFrames
				return p[n:]
			}
		} else if n > 0 {
			l.streams.GoodHead(s)
			c.framing, c.remain, c.digits = atSize, 0, 0
			return p[n:]
		}
	}
	l.slow(ci, c, "")
	return p
}

// answered ends a complete response; rest is the bytes after it. The connection is not
// reused if a part of its request is not written.
func (l *loop) answered(ci int32, c *conn, s *account.Stream, rest []byte) {
	i := c.stream
	switch {
	case len(rest) > 0:
		l.streams.Breach(i, s, "http.extra: bytes that no request asked for")
		l.closeConn(ci, c)
	case c.unsent:
		l.closeConn(ci, c)
	default:
		l.park(ci, c)
	}
	l.streams.End(i, s, nil)
}

// park keeps a connection for the next request.
func (l *loop) park(ci int32, c *conn) {
	s := l.streams.At(c.stream)
	if !c.proven && !s.IsCall() {
		l.learnSegments(c)
	}
	idle := l.idleFor(s)
	c.state, c.stream = connIdle, account.None
	*idle = append(*idle, c.key(ci))
}

// idleFor returns the list of idle connections for a stream, or for a call. Calls have
// their own: a gateway that closes connections after a stream must not break a kill.
func (l *loop) idleFor(s *account.Stream) *[]uint64 {
	if s.IsCall() {
		return &l.idleCalls
	}
	return &l.idle
}

// eof handles the end of a connection that the peer has closed.
func (l *loop) eof(ci int32, c *conn) {
	switch {
	case c.state != connBusy:
		l.lose(ci, c, account.Dial(unix.ECONNRESET, l.plan.Limits.Connect))
	case c.framing == atSlow && l.eofSlow(ci, c):
	case c.framing == atFrames:
		i := c.stream
		l.closeConn(ci, c)
		l.streams.Gone(i, l.streams.At(i))
	default:
		l.lose(ci, c, account.Closed(c.any, c.tls.CutOff()))
	}
}

// lose closes a connection and fails its stream.
func (l *loop) lose(ci int32, c *conn, f *account.Failure) {
	i := c.stream
	l.closeConn(ci, c)
	if i != account.None {
		l.streams.Fail(i, l.streams.At(i), f)
	}
}

// closeConn closes a connection. Later events of epoll for it have an older generation.
func (l *loop) closeConn(ci int32, c *conn) {
	if c.state == connDialing || c.state == connSecuring {
		l.dialing--
	}
	if c.framing == atSlow {
		l.dropSlow(ci)
	}
	if c.framing == atFrames {
		delete(l.outs, ci)
	}
	l.remove(c) // otherwise the peer gets a reset
	c.tls.End()
	closeSocket(c.fd)
	c.state, c.stream, c.framing, c.tls = connFree, account.None, atHead, nil
	c.gen++
	l.conns.Put(ci)
}
