//go:build linux && (amd64 || arm64)

package fast

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// secure is the TLS of a connection: a tls.Conn whose socket is the memory between it and the
// loop. The tls.Conn gets whole records, one for each Read, so that it never waits for more
// and holds no part of the next record. nil is a connection without TLS.
type secure struct {
	conn   *tls.Conn
	shake  *shake // the handshake in progress, nil after it
	in     []byte // the rest of the record that conn reads
	cut    []byte // an incomplete record
	out    []byte // encrypted bytes that the socket had no room for
	fd     int32
	closed bool // close_notify came
}

// The sizes of TLS records (RFC 8446, section 5.2; RFC 5246, section 6.2.3).
const (
	recordHeader = 5
	maxRecord    = recordHeader + 16<<10 + 2048
	// The types of records are from changeCipherSpec to heartbeat.
	firstRecordType, lastRecordType = 20, 24
)

// recordSize returns the size of the first record in p, 0 when it is incomplete. Bytes that
// cannot begin a record count as one, because tls.Conn then reports what is wrong.
func recordSize(p []byte) int {
	switch {
	case len(p) == 0:
		return 0
	case p[0] < firstRecordType || p[0] > lastRecordType:
		return len(p)
	case len(p) < recordHeader:
		return 0
	}
	n := recordHeader + int(binary.BigEndian.Uint16(p[3:]))
	switch {
	case n > maxRecord:
		return len(p)
	case n > len(p):
		return 0
	}
	return n
}

// open decrypts received bytes and appends the contents to dst. An incomplete record waits
// for the next call. The error io.EOF is the peer's close_notify; after an error, dst has
// what came before it.
func (t *secure) open(dst, p []byte) ([]byte, error) {
	held := len(t.cut) > 0
	if held {
		t.cut = append(t.cut, p...)
		p = t.cut
	}
	for n := recordSize(p); n > 0; n = recordSize(p) {
		var err error
		if dst, err = t.record(dst, p[:n]); err != nil {
			t.closed = errors.Is(err, io.EOF)
			return dst, err
		}
		p = p[n:]
	}
	switch {
	case len(p) == 0:
		t.cut = nil // an idle connection holds no buffer
	case held:
		t.cut = t.cut[:copy(t.cut, p)]
	default:
		t.cut = append(t.cut, p...)
	}
	return dst, nil
}

// record decrypts one record. Records of TLS itself, like a session ticket, have no content.
func (t *secure) record(dst, p []byte) ([]byte, error) {
	dst = slices.Grow(dst, len(p))
	t.in = p
	n, err := t.conn.Read(dst[len(dst):cap(dst)])
	t.in = nil
	if errors.Is(err, errDry) {
		err = nil
	}
	return dst[:len(dst)+n], err
}

// silent reports whether bytes of an idle connection are records of TLS itself, which end
// nothing.
func (t *secure) silent(p []byte) bool {
	if t == nil {
		return false
	}
	contents, err := t.open(nil, p)
	return err == nil && len(contents) == 0
}

// cutOff reports whether the peer closes the connection without the close_notify of TLS.
func (t *secure) cutOff() bool { return t != nil && !t.closed }

// pending reports whether encrypted bytes wait for room in the socket.
func (t *secure) pending() bool {
	if t == nil {
		return false
	}
	if t.shake != nil {
		t.shake.mu.Lock()
		defer t.shake.mu.Unlock()
	}
	return len(t.out) > 0
}

// flush writes encrypted bytes that wait for room.
func (t *secure) flush() unix.Errno {
	if t.shake != nil {
		t.shake.mu.Lock()
		defer t.shake.mu.Unlock()
	}
	if len(t.out) == 0 {
		return 0
	}
	n, e := send(t.fd, t.out)
	if e != 0 {
		return e
	}
	if t.out = t.out[:copy(t.out, t.out[n:])]; len(t.out) > 0 {
		return unix.EAGAIN
	}
	t.out = nil
	return 0
}

// write encrypts p. Encrypted bytes without room in the socket wait for flush; until they are
// written, write accepts no more and returns EAGAIN.
func (t *secure) write(p []byte) (int, unix.Errno) {
	if e := t.flush(); e != 0 || len(p) == 0 {
		return 0, e
	}
	n, err := t.conn.Write(p)
	if err == nil {
		return n, 0
	}
	var e unix.Errno
	if errors.As(err, &e) {
		return 0, e
	}
	return 0, unix.EPIPE // reading has found what is wrong
}

// transmit writes p to a connection. With TLS, all of p may be accepted although a part of it
// is pending.
func transmit(fd int32, t *secure, p []byte) (int, unix.Errno) {
	if t == nil {
		return send(fd, p)
	}
	return t.write(p)
}

// end ends the use of the socket, which the loop is about to close. It tells the peer, unless
// the handshake is not complete.
func (t *secure) end() {
	switch {
	case t == nil:
	case t.shake != nil:
		t.shake.abandon()
	default:
		_ = t.conn.CloseWrite() // close_notify
	}
}

// dry is the error of a Read without bytes. It is temporary, so tls.Conn can continue later.
type dry struct{}

var errDry error = dry{}

func (dry) Error() string   { return "no bytes have come" }
func (dry) Timeout() bool   { return true }
func (dry) Temporary() bool { return true }

// link is the socket of a tls.Conn.
type link struct{ *secure }

var _ net.Conn = link{}

// Read returns bytes of the present record; without any, it returns errDry. In the handshake
// it waits for the next record.
func (k link) Read(p []byte) (int, error) {
	if k.shake != nil {
		return k.shake.read(p)
	}
	if len(k.in) == 0 {
		return 0, errDry
	}
	n := copy(p, k.in)
	k.in = k.in[n:]
	return n, nil
}

// Write writes to the socket. Bytes without room there wait for flush.
func (k link) Write(p []byte) (int, error) {
	if k.shake != nil {
		k.shake.mu.Lock()
		defer k.shake.mu.Unlock()
		if k.shake.abandoned {
			return 0, net.ErrClosed // the descriptor may be another connection's
		}
	}
	n, e := 0, unix.EAGAIN
	if len(k.out) == 0 {
		n, e = send(k.fd, p)
	}
	switch {
	case e == unix.EAGAIN:
		n = 0
	case e != 0:
		return 0, e
	}
	k.out = append(k.out, p[n:]...)
	return len(p), nil
}

// Close does nothing: the loop closes the socket.
func (link) Close() error { return nil }

// LocalAddr returns nil.
func (link) LocalAddr() net.Addr { return nil }

// RemoteAddr returns nil.
func (link) RemoteAddr() net.Addr { return nil }

// SetDeadline does nothing: the loop keeps the deadlines.
func (link) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (link) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (link) SetWriteDeadline(time.Time) error { return nil }
