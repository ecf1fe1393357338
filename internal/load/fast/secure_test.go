//go:build linux && (amd64 || arm64)

package fast

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/base/tlsloop"
	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
)

// secureTest is a connection with TLS between a loop and a server in the test.
type secureTest struct {
	l      *loop
	sink   *loadtest.Last
	tls    *tlsloop.Conn
	fd     int32
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
		peer: peer.(*net.UnixConn), fd: int32(pair[0]),
	}
	go func() { s.served <- s.server.HandshakeContext(tb.Context()) }()
	s.tls = l.secure(s.fd, 0)
	tb.Cleanup(func() {
		if !s.closed {
			s.tls.End()
			closeSocket(s.fd)
		}
		l.shakes.Wait()
		closeSocket(l.wakeFD)
		_ = peer.Close()
	})
	return s
}

// finish ends the handshake, as far as the goroutine and the server go.
func (s *secureTest) finish(tb testing.TB) {
	tb.Helper()
	for !s.l.woken.Load() {
		s.await(tb, int(s.l.wakeFD), int(s.fd))
		s.l.readShake(s.fd, s.tls)
	}
	if err := <-s.served; err != nil {
		tb.Fatal(err)
	}
}

// conn makes the connection that of a stream, in a state.
func (s *secureTest) conn(state connState) (int32, *conn) {
	i, st := s.l.testStream()
	ci, c := s.l.testConn(i, st)
	c.fd, c.tls, c.state = s.fd, s.tls, state
	s.l.plain = make([]byte, 0, readSize+tlsloop.MaxRecord)
	return ci, c
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
			n, _, e := s.l.recv.read(s.fd)
			if e != 0 {
				break
			}
			out = append(out, s.l.recv.buf[:n]...)
		}
	}
	return out
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
			if err := s.l.shakes.Take()[0].Err; err != nil {
				t.Fatal(err)
			}
			tickets := append(s.tls.Settle(), s.sealed(t, "")...)
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
	s.l.readShake(s.fd, s.tls)
	s.l.settle()
	s.l.readAgain()
	if n := s.l.shakes.Open(); n != 0 {
		t.Errorf("%d handshakes are open", n)
	}
	s.closed = c.state == connFree
	if s.sink.Count != 1 || s.sink.Result.Outcome != bundle.StreamReset || !strings.Contains(s.sink.Result.Message, "without the close_notify") {
		t.Errorf("%d ended, %+v; the connection is in state %d", s.sink.Count, s.sink.Result, c.state)
	}
}
