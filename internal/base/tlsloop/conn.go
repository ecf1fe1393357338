package tlsloop

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Send writes to a socket without waiting. It returns how many bytes the socket had room for,
// which may be 0.
type Send func(fd int32, p []byte) (n int, err error)

// ErrFull is the error of a Write before which encrypted bytes still wait for room in the
// socket.
var ErrFull = errors.New("encrypted bytes wait for room in the socket")

// mostOwed bounds the records with which crypto/tls answers those of a peer, like KeyUpdate, and
// which wait for room in the socket. An answer has about 30 bytes.
const mostOwed = 16 << 10

// errUnread is the error of a peer that asks for answers and reads none.
var errUnread = fmt.Errorf("tls: over %d KB of answers wait for the peer to read them", mostOwed>>10)

// Conn is the TLS of a connection: a tls.Conn whose socket is the memory between it and the
// loop. The tls.Conn gets whole records, one for each Read, so that it never waits for more
// and holds no part of the next record.
//
// The methods belong to the goroutine of the loop. nil is a connection without TLS, for which
// only CutOff, End, Pending and Silent may be called.
type Conn struct {
	conn   *tls.Conn
	shake  *handshake // in progress; nil after Settle
	send   Send
	in     []byte // the rest of the record that conn reads
	cut    []byte // an incomplete record
	out    []byte // encrypted bytes that the socket had no room for
	owed   int    // those of out that answer the peer
	fd     int32
	closed bool // close_notify came
}

// Client returns the TLS of a client's connection. Handshake comes next.
func Client(fd int32, send Send, config *tls.Config) *Conn {
	return newConn(fd, send, config, tls.Client)
}

// Server returns the TLS of a server's connection. Handshake comes next.
func Server(fd int32, send Send, config *tls.Config) *Conn {
	return newConn(fd, send, config, tls.Server)
}

// Open decrypts received bytes and appends the contents to dst. An incomplete record waits
// for the next call. The error io.EOF is the peer's close_notify; after an error, dst has
// what came before it.
func (t *Conn) Open(dst, p []byte) ([]byte, error) {
	var err error
	if len(t.cut) > 0 {
		if p = t.complete(p); recordSize(t.cut) > len(t.cut) {
			return dst, nil
		}
		dst, err = t.record(dst, t.cut)
		t.cut = nil // an idle connection holds no buffer
	}
	for n := recordSize(p); n <= len(p) && err == nil; n = recordSize(p) {
		dst, err = t.record(dst, p[:n])
		p = p[n:]
	}
	switch {
	case err != nil:
		t.closed = errors.Is(err, io.EOF)
	case len(p) > 0:
		t.cut = append(t.cut, p...)
	}
	return dst, err
}

// complete moves bytes from the beginning of p to the incomplete record, as many as it lacks. It
// returns the others. A record waits without what follows it, because a gateway that ends each
// write inside a record would else make every connection hold a whole read.
func (t *Conn) complete(p []byte) (rest []byte) {
	for n := recordSize(t.cut) - len(t.cut); n > 0 && len(p) > 0; n = recordSize(t.cut) - len(t.cut) {
		n = min(n, len(p))
		t.cut = append(t.cut, p[:n]...)
		p = p[n:]
	}
	return p
}

// record decrypts one record. Records of TLS itself, like a session ticket, have no content.
func (t *Conn) record(dst, p []byte) ([]byte, error) {
	dst = slices.Grow(dst, len(p))
	t.in = p
	before := len(t.out)
	n, err := t.conn.Read(dst[len(dst):cap(dst)])
	t.in = nil
	if errors.Is(err, errDry) {
		err = nil
	}
	if t.owed += len(t.out) - before; t.owed > mostOwed && err == nil {
		err = errUnread
	}
	return dst[:len(dst)+n], err
}

// Silent reports whether bytes of an idle connection are records of TLS itself, which end
// nothing.
func (t *Conn) Silent(p []byte) bool {
	if t == nil {
		return false
	}
	contents, err := t.Open(nil, p)
	return err == nil && len(contents) == 0
}

// CutOff reports whether the peer closes the connection without the close_notify of TLS.
func (t *Conn) CutOff() bool { return t != nil && !t.closed }

// Pending reports whether encrypted bytes wait for room in the socket.
func (t *Conn) Pending() bool {
	if t == nil {
		return false
	}
	if t.shake != nil {
		t.shake.mu.Lock()
		defer t.shake.mu.Unlock()
	}
	return len(t.out) > 0
}

// Flush writes encrypted bytes that wait for room. It returns ErrFull while some are left.
func (t *Conn) Flush() error {
	if t.shake != nil {
		t.shake.mu.Lock()
		defer t.shake.mu.Unlock()
	}
	if len(t.out) == 0 {
		return nil
	}
	n, err := t.send(t.fd, t.out)
	if err != nil {
		return err
	}
	if t.out = t.out[:copy(t.out, t.out[n:])]; len(t.out) > 0 {
		return ErrFull
	}
	t.out, t.owed = nil, 0
	return nil
}

// Write encrypts p, all of it or nothing. Encrypted bytes without room in the socket wait for
// Flush; until they are written, Write accepts no more and returns ErrFull. Another error is
// that of the socket or of the connection.
func (t *Conn) Write(p []byte) error {
	if err := t.Flush(); err != nil || len(p) == 0 {
		return err
	}
	_, err := t.conn.Write(p)
	return err
}

// End ends the use of the socket, which the loop is about to close. It tells the peer, unless
// the handshake is not complete.
func (t *Conn) End() {
	switch {
	case t == nil:
	case t.shake != nil:
		t.shake.abandon()
	default:
		_ = t.conn.CloseWrite() // close_notify
	}
}
