//go:build linux && (amd64 || arm64)

package fast

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/bundle"
	"assay/internal/load"
	"assay/internal/load/loadtest"
)

// secureTest is a connection with TLS between a loop and a server in the test.
type secureTest struct {
	l      *loop
	sink   *loadtest.Last
	tls    *secure
	server *tls.Conn
	served chan error
	peer   *net.UnixConn // under server
	closed bool          // the loop has closed the connection
}

// newSecureTest returns a loop with a connection whose handshake has begun. The key of the
// connection is 0, that of the first in the loop.
func newSecureTest(tb testing.TB) *secureTest {
	tb.Helper()
	l, sink := bench(tb, load.ProtocolConnect, load.CodecJSON, load.HTTP11, fiveLines)
	l.recv, l.shakes.config = newReceiver(readSize), loadtest.ClientTLS()
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK)
	if err != nil {
		tb.Fatal(err)
	}
	l.wakeFD = int32(wake)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		tb.Fatal(err)
	}
	peer, err := net.FileConn(os.NewFile(uintptr(pair[1]), "peer"))
	if err != nil {
		tb.Fatal(err)
	}
	s := &secureTest{
		l: l, sink: sink, server: tls.Server(peer, loadtest.ServerTLS()), served: make(chan error, 1),
		peer: peer.(*net.UnixConn),
	}
	go func() { s.served <- s.server.HandshakeContext(tb.Context()) }()
	s.tls = l.secure(int32(pair[0]), 0)
	tb.Cleanup(func() {
		if !s.closed {
			s.tls.end()
			closeSocket(s.tls.fd)
		}
		l.shakes.running.Wait()
		closeSocket(l.wakeFD)
		_ = peer.Close()
	})
	return s
}

// finish ends the handshake, as far as the goroutine and the server go.
func (s *secureTest) finish(tb testing.TB) {
	tb.Helper()
	for over := false; !over; {
		s.await(tb, int(s.l.wakeFD), int(s.tls.fd))
		s.l.readShake(s.tls)
		s.l.shakes.mu.Lock()
		over = len(s.l.shakes.done) > 0
		s.l.shakes.mu.Unlock()
	}
	if err := errors.Join(s.tls.shake.err, <-s.served); err != nil {
		tb.Fatal(err)
	}
}

// conn makes the connection that of a stream, in a state.
func (s *secureTest) conn(state connState) (int32, *conn) {
	i, st := s.l.testStream()
	ci, c := s.l.testConn(i, st)
	c.fd, c.tls, c.state = s.tls.fd, s.tls, state
	s.l.plain = make([]byte, 0, readSize+maxRecord)
	return ci, c
}

// secureBench returns a loop with a connection whose handshake is complete, and whose session
// tickets are read.
func secureBench(tb testing.TB) *secureTest {
	tb.Helper()
	s := newSecureTest(tb)
	s.finish(tb)
	early := s.tls.shake.in
	s.tls.shake = nil
	if p, err := s.tls.open(nil, early); err != nil || len(p) > 0 {
		tb.Fatalf("%q came early, %v", p, err)
	}
	s.receive(tb, 0) // the session tickets
	return s
}

// await waits until one of two descriptors is readable.
func (s *secureTest) await(tb testing.TB, one, other int) {
	tb.Helper()
	fds := []unix.PollFd{{Fd: int32(one), Events: unix.POLLIN}, {Fd: int32(other), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 60_000); n == 0 || err != nil && !errors.Is(err, unix.EINTR) {
		tb.Fatalf("nothing came: %v", err)
	}
}

// sealed returns what the server sends for writes, as the socket has it.
func (s *secureTest) sealed(tb testing.TB, writes ...string) (out []byte) {
	tb.Helper()
	for _, p := range writes {
		if _, err := io.WriteString(s.server, p); err != nil {
			tb.Fatal(err)
		}
		for {
			n, _, e := s.l.recv.read(s.tls.fd)
			if e != 0 {
				break
			}
			out = append(out, s.l.recv.buf[:n]...)
		}
	}
	return out
}

// receive opens what is in the socket, in pieces of some bytes; 0 is all at once.
func (s *secureTest) receive(tb testing.TB, piece int, writes ...string) string {
	tb.Helper()
	var got []byte
	for rest := s.sealed(tb, append(writes, "")...); len(rest) > 0; {
		n := len(rest)
		if piece > 0 {
			n = min(piece, n)
		}
		p, err := s.tls.open(nil, rest[:n])
		if err != nil {
			tb.Fatal(err)
		}
		got = append(got, p...)
		rest = rest[n:]
	}
	return string(got)
}

// Records have the same contents however they are cut, and nothing is held after a whole one.
func TestRecordsMayBeCutAnywhere(t *testing.T) {
	s := secureBench(t)
	writes := []string{"a", strings.Repeat("b", 100), strings.Repeat("c", 40_000), "d", strings.Repeat("e", 16<<10), "f"}
	for _, piece := range []int{0, 1, 2, 4, 5, 6, 7, 100, 16 << 10, 17 << 10} {
		if got, want := s.receive(t, piece, writes...), strings.Join(writes, ""); got != want {
			t.Errorf("in pieces of %d: %d bytes, want %d", piece, len(got), len(want))
		}
		if s.tls.cut != nil || s.tls.in != nil || s.tls.out != nil {
			t.Errorf("in pieces of %d: %d, %d and %d bytes are held", piece, len(s.tls.cut), len(s.tls.in), len(s.tls.out))
		}
	}
}

// What the socket has no room for waits, in order, and nothing more is accepted meanwhile.
func TestEncryptedBytesWaitForRoom(t *testing.T) {
	s := secureBench(t)
	first, second := bytes.Repeat([]byte("0123456789"), 200_000), []byte("the end")
	if n, e := s.tls.write(first); n != len(first) || e != 0 || !s.tls.pending() {
		t.Fatalf("%d bytes were accepted, %v; pending %v", n, e, s.tls.pending())
	}
	if n, e := s.tls.write(second); n != 0 || !errors.Is(e, unix.EAGAIN) {
		t.Fatalf("%d bytes more were accepted, %v", n, e)
	}
	got := make(chan []byte)
	go func() {
		p := make([]byte, len(first)+len(second))
		_, _ = io.ReadFull(s.server, p)
		got <- p
	}()
	for sent := false; !sent; {
		fds := []unix.PollFd{{Fd: s.tls.fd, Events: unix.POLLOUT}}
		if _, err := unix.Poll(fds, 60_000); err != nil && !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
		_, e := s.tls.write(second)
		sent = e == 0
	}
	for s.tls.pending() {
		_ = s.tls.flush()
	}
	if p := <-got; !bytes.Equal(p, slices.Concat(first, second)) {
		t.Error("the server got other bytes")
	}
}

// The end of TLS follows the contents before it.
func TestCloseNotifyFollowsTheContents(t *testing.T) {
	s := secureBench(t)
	if _, err := io.WriteString(s.server, "last"); err != nil {
		t.Fatal(err)
	}
	if err := s.server.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	n, _, e := s.l.recv.read(s.tls.fd)
	if e != 0 {
		t.Fatal(e)
	}
	if !s.tls.cutOff() {
		t.Error("it is closed before the end came")
	}
	p, err := s.tls.open(nil, s.l.recv.buf[:n])
	if string(p) != "last" || !errors.Is(err, io.EOF) || s.tls.cutOff() {
		t.Errorf("%q, %v, cut off %v", p, err, s.tls.cutOff())
	}
}

// Session tickets on an idle connection are read, and it stays idle. Contents close it.
func TestSessionTicketsDoNotEndAnIdleConnection(t *testing.T) {
	for name, idle := range map[string]func(l *loop, ci int32, c *conn) bool{
		"when an event comes": func(l *loop, ci int32, c *conn) bool { l.readConn(ci, c, false); return c.state == connIdle },
		"before it is used":   func(l *loop, _ int32, c *conn) bool { return l.quiet(c) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSecureTest(t)
			s.finish(t)
			tickets := append(s.tls.shake.in, s.sealed(t, "")...)
			s.tls.shake = nil
			ci, c := s.conn(connIdle)
			if _, err := s.peer.Write(tickets); err != nil || len(tickets) == 0 {
				t.Fatalf("%d bytes of tickets, %v", len(tickets), err)
			}
			if !idle(s.l, ci, c) || s.l.cautious {
				t.Errorf("after the tickets it is in state %d", c.state)
			}
			if _, err := io.WriteString(s.server, "x"); err != nil {
				t.Fatal(err)
			}
			if idle(s.l, ci, c) {
				t.Error("contents are nothing to it")
			}
			s.closed = c.state == connFree
		})
	}
}

// The end of a connection may come before the loop knows that the handshake is complete.
func TestAnEndRightAfterTheHandshakeIsNoticed(t *testing.T) {
	s := newSecureTest(t)
	_, c := s.conn(connSecuring)
	s.finish(t)
	if err := s.peer.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	s.l.readShake(s.tls)
	s.l.settle()
	s.l.readAgain()
	s.closed = c.state == connFree
	if s.sink.Count != 1 || s.sink.Result.Outcome != bundle.StreamReset || !strings.Contains(s.sink.Result.Message, "without the close_notify") {
		t.Errorf("%d ended, %+v; the connection is in state %d", s.sink.Count, s.sink.Result, c.state)
	}
}

// A peer that sends more than a handshake has is given up.
func TestAFloodEndsTheHandshake(t *testing.T) {
	h := &shake{}
	h.more.L = &h.mu
	part := append([]byte{22, 3, 3, 0x40, 0}, make([]byte, 16<<10)...)
	fed := 0
	for h.feed(part) {
		if fed += len(part); fed > 2*mostShake {
			t.Fatal("all of it is accepted")
		}
	}
	if _, err := h.read(make([]byte, 10)); !errors.Is(err, errFlood) {
		t.Errorf("%v", err)
	}
}

// crypto/tls allocates once for each record, 24 bytes.
func TestARecordAllocatesOnce(t *testing.T) {
	s := secureBench(t)
	var records [][]byte
	for range 1101 {
		records = append(records, s.sealed(t, testChunk(testLine("1\n"))))
	}
	buf, n := make([]byte, 0, maxRecord), 0
	if got := testing.AllocsPerRun(1000, func() { _, _ = s.tls.open(buf, records[n]); n++ }); got > 1 {
		t.Errorf("%v allocations for a record", got)
	}
}
