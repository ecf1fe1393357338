//go:build unix

package tlsloop

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// certificate returns the test certificate of httptest.
var certificate = sync.OnceValue(func() tls.Certificate {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	c := s.TLS.Certificates[0]
	c.Leaf = s.Certificate()
	return c
})

func serverConfig() *tls.Config { return &tls.Config{Certificates: []tls.Certificate{certificate()}} }

func clientConfig() *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(certificate().Leaf)
	return &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", DynamicRecordSizingDisabled: true}
}

// pair is a connection of a loop, and its peer.
type pair struct {
	loop *Conn
	peer *tls.Conn
	fd   int
}

func sendTest(fd int32, p []byte) (int, error) {
	n, err := unix.Write(int(fd), p)
	if errors.Is(err, unix.EAGAIN) {
		return 0, nil
	}
	return max(n, 0), err
}

// newPair returns a connection whose handshake is complete. The loop is the client or the
// server. change changes the configurations.
func newPair(tb testing.TB, client bool, change ...func(client, server *tls.Config)) *pair {
	tb.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		tb.Fatal(err)
	}
	for _, fd := range fds {
		if err := unix.SetNonblock(fd, true); err != nil {
			tb.Fatal(err)
		}
	}
	socket, err := net.FileConn(os.NewFile(uintptr(fds[1]), "peer"))
	if err != nil {
		tb.Fatal(err)
	}
	p := &pair{fd: fds[0]}
	ofClient, ofServer := clientConfig(), serverConfig()
	for _, c := range change {
		c(ofClient, ofServer)
	}
	if client {
		p.loop, p.peer = Client(int32(p.fd), sendTest, ofClient), tls.Server(socket, ofServer)
	} else {
		p.loop, p.peer = Server(int32(p.fd), sendTest, ofServer), tls.Client(socket, ofClient)
	}
	tb.Cleanup(func() {
		_ = socket.Close()
		_ = unix.Close(p.fd)
	})
	ours, theirs := make(chan error, 1), make(chan error, 1)
	p.loop.Handshake(func(_ tls.ConnectionState, err error) { ours <- err })
	go func() { theirs <- p.peer.HandshakeContext(tb.Context()) }()
	for waiting := 2; waiting > 0; {
		select {
		case err = <-ours:
			waiting--
		case err = <-theirs:
			waiting--
		default:
			if got := p.raw(tb); len(got) > 0 {
				p.loop.Feed(got)
			}
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	early, err := p.loop.Open(nil, append(p.loop.Settle(), p.raw(tb)...)) // session tickets
	if err != nil || len(early) > 0 {
		tb.Fatalf("%q came early, %v", early, err)
	}
	return p
}

// raw reads what the socket of the loop has.
func (p *pair) raw(tb testing.TB) (out []byte) {
	tb.Helper()
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(p.fd, buf)
		switch {
		case errors.Is(err, unix.EAGAIN) || err == nil && n == 0:
			return out
		case err != nil:
			tb.Fatal(err)
		}
		out = append(out, buf[:n]...)
	}
}

// sealed returns what the socket has of writes of the peer.
func (p *pair) sealed(tb testing.TB, writes ...string) (out []byte) {
	tb.Helper()
	for _, w := range writes {
		if _, err := io.WriteString(p.peer, w); err != nil {
			tb.Fatal(err)
		}
		out = append(out, p.raw(tb)...)
	}
	return out
}

// bothSides runs a test with the loop as the client and as the server.
func bothSides(t *testing.T, test func(t *testing.T, p *pair)) {
	t.Run("client", func(t *testing.T) { test(t, newPair(t, true)) })
	t.Run("server", func(t *testing.T) { test(t, newPair(t, false)) })
}

// Records have the same contents however they are cut, and nothing is held after a whole one.
func TestRecordsMayBeCutAnywhere(t *testing.T) {
	bothSides(t, func(t *testing.T, p *pair) {
		writes := []string{"a", strings.Repeat("b", 100), strings.Repeat("c", 40_000), "d", strings.Repeat("e", 16<<10), "f"}
		for _, piece := range []int{1 << 20, 1, 2, 4, 5, 6, 7, 100, 16 << 10, 17 << 10} {
			var got []byte
			for part := range slices.Chunk(p.sealed(t, writes...), piece) {
				var err error
				if got, err = p.loop.Open(got, part); err != nil {
					t.Fatal(err)
				}
			}
			if want := strings.Join(writes, ""); string(got) != want {
				t.Errorf("in pieces of %d: %d bytes, want %d", piece, len(got), len(want))
			}
			if p.loop.cut != nil || p.loop.in != nil || p.loop.out != nil {
				t.Errorf("in pieces of %d: %d, %d and %d bytes are held", piece, len(p.loop.cut), len(p.loop.in), len(p.loop.out))
			}
		}
	})
}

// A connection holds at most one incomplete record, wherever the reads of a gateway's writes end.
func TestOnlyTheIncompleteRecordIsHeld(t *testing.T) {
	bothSides(t, func(t *testing.T, p *pair) {
		const reads, size = 4, 64 << 10
		content := strings.Repeat("x", reads*size)
		var records []byte
		for part := range slices.Chunk([]byte(content), 8<<10) { // the socket has room for one
			records = append(records, p.sealed(t, string(part))...)
		}
		var got []byte
		for part := range slices.Chunk(records, size) {
			var err error
			if got, err = p.loop.Open(got, part); err != nil {
				t.Fatal(err)
			}
			if cap(p.loop.cut) > 2*MaxRecord {
				t.Errorf("it holds %d bytes in %d", len(p.loop.cut), cap(p.loop.cut))
			}
		}
		if string(got) != content || p.loop.cut != nil {
			t.Errorf("%d bytes, want %d; %d are held", len(got), len(content), len(p.loop.cut))
		}
	})
}

// What the socket has no room for waits, in order, and nothing more is accepted meanwhile.
func TestEncryptedBytesWaitForRoom(t *testing.T) {
	bothSides(t, func(t *testing.T, p *pair) {
		first, second := bytes.Repeat([]byte("0123456789"), 200_000), []byte("the end")
		if err := p.loop.Write(first); err != nil || !p.loop.Pending() {
			t.Fatalf("%v; pending %v", err, p.loop.Pending())
		}
		if err := p.loop.Write(second); !errors.Is(err, ErrFull) {
			t.Fatalf("more was accepted, %v", err)
		}
		got := make(chan []byte)
		go func() {
			b := make([]byte, len(first)+len(second))
			_, _ = io.ReadFull(p.peer, b)
			got <- b
		}()
		for sent := false; !sent; {
			fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLOUT}}
			if _, err := unix.Poll(fds, 60_000); err != nil && !errors.Is(err, unix.EINTR) {
				t.Fatal(err)
			}
			sent = p.loop.Write(second) == nil
		}
		for p.loop.Pending() {
			_ = p.loop.Flush()
		}
		if b := <-got; !bytes.Equal(b, slices.Concat(first, second)) {
			t.Error("the peer got other bytes")
		}
	})
}

// The end of TLS follows the contents before it.
func TestCloseNotifyFollowsTheContents(t *testing.T) {
	bothSides(t, func(t *testing.T, p *pair) {
		records := p.sealed(t, "last")
		if err := p.peer.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if !p.loop.CutOff() {
			t.Error("it is closed before the end came")
		}
		got, err := p.loop.Open(nil, append(records, p.raw(t)...))
		if string(got) != "last" || !errors.Is(err, io.EOF) || p.loop.CutOff() {
			t.Errorf("%q, %v, cut off %v", got, err, p.loop.CutOff())
		}
	})
}

// A peer that sends more than a handshake has is given up.
func TestAFloodEndsTheHandshake(t *testing.T) {
	h := newHandshake()
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
	if held := len(h.in); h.feed(part) || len(h.in) != held {
		t.Errorf("after its end it accepts more: %d bytes, before %d", len(h.in), held)
	}
}

// End during the handshake ends its goroutine, and the socket is not used any more.
func TestEndAbandonsAHandshake(t *testing.T) {
	fed := make(chan struct{}, 1)
	c := Client(-1, func(_ int32, p []byte) (int, error) { fed <- struct{}{}; return len(p), nil }, clientConfig())
	result := make(chan error)
	c.Handshake(func(_ tls.ConnectionState, err error) { result <- err })
	<-fed // the ClientHello
	c.End()
	if err := <-result; err == nil {
		t.Error("the handshake is complete")
	}
	if _, err := (link{c}).Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write after the end: %v", err)
	}
}

// crypto/tls allocates once for each record, 24 bytes.
func TestARecordAllocatesOnce(t *testing.T) {
	p := newPair(t, true)
	var records [][]byte
	for range 1101 {
		records = append(records, p.sealed(t, strings.Repeat("x", 100)))
	}
	buf, n := make([]byte, 0, MaxRecord), 0
	if got := testing.AllocsPerRun(1000, func() { _, _ = p.loop.Open(buf, records[n]); n++ }); got > 1 {
		t.Errorf("%v allocations for a record", got)
	}
}
