//go:build linux && (amd64 || arm64)

package fast

import (
	"bytes"
	"slices"

	"golang.org/x/sys/unix"

	"assay/internal/load"
	"assay/internal/load/account"
)

// withKeys returns the Start requests of a loop: those that ask for a WebSocket are its own
// copies, because each connection gets its own key in them.
func withKeys(starts []*encoded) []*encoded {
	starts = slices.Clone(starts)
	for n, e := range starts {
		if at := bytes.Index(e.h1, []byte(load.WSKey)); e.upgrades && at > 0 {
			own := *e
			own.h1, own.key = bytes.Clone(e.h1), at
			starts[n] = &own
		}
	}
	return starts
}

// h1 returns the request of an entry, with the key of its WebSocket if it asks for one.
func (l *loop) h1(i int32, s *account.Stream) []byte {
	e := l.encoded(i, s)
	if e.key > 0 {
		key := l.streams.Key(s)
		copy(e.h1[e.key:], key[:])
	}
	return e.h1
}

// Write sends bytes on a connection that has switched protocols.
func (l *loop) Write(_ int32, s *account.Stream, p []byte, skip bool) {
	ci := s.Conn
	if ci == account.None {
		return
	}
	c := l.conns.At(ci)
	if c.unsent {
		if out := l.outs[ci]; !skip || len(out) <= account.PongRoom {
			l.outs[ci] = append(out, p...)
		}
		return
	}
	n, e := transmit(c.fd, c.tls, p)
	switch {
	case e != 0 && e != unix.EAGAIN:
		return // reading shows the error, too
	case e != 0:
		n = 0
	}
	c.unsent = n < len(p) || c.tls.Pending() // epoll reports when there is room again
	if n < len(p) {
		l.outs[ci] = append([]byte(nil), p[n:]...)
	}
}

// flushConn writes what Write could not send.
func (l *loop) flushConn(ci int32, c *conn) {
	p := l.outs[ci]
	n, e := transmit(c.fd, c.tls, p)
	if e == unix.EAGAIN {
		return
	}
	if e == 0 && n < len(p) {
		l.outs[ci] = p[:copy(p, p[n:])]
		return
	}
	delete(l.outs, ci)
	c.unsent = c.tls.Pending()
}

// switched continues with the bytes behind a 101 response, which the strict decoder has
// read.
func (l *loop) switched(ci int32, c *conn, w *slow) {
	i, gen, good := c.stream, c.gen, w.broken == nil
	text, fields := w.text, w.fields
	s := l.streams.At(i)
	l.dropSlow(ci)
	c.framing = atFrames
	l.streams.Head(i, s, 101, fields)
	if good && c.gen == gen { // account has accepted it
		l.known[s.Request()].learn(text)
	}
}
