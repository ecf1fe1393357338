//go:build linux && (amd64 || arm64)

package fast

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/load"
	"assay/internal/testkit"
)

// Bytes that were peeked at are handled once, and removed when the next request is written,
// at the end of the turn, or before the connection is closed.
func TestWhatWasLookedAtIsRemoved(t *testing.T) {
	l, sink := bench(t, load.ProtocolConnect, load.CodecJSON, load.HTTP11, fiveLines)
	l.recv = newReceiver(readSize)
	fd, peer := connected(t)
	defer func() { _ = peer.Close() }()
	i, s := l.testStream()
	ci, c := l.testConn(i, s)
	c.fd = fd
	answer := wholeAnswer()
	say := func(p []byte) {
		t.Helper()
		for n := 0; n < len(p); n += 100 { // one segment each
			all := min(n+100, len(p))
			if _, err := peer.Write(p[n:all]); err != nil {
				t.Fatal(err)
			}
			awaitHeld(t, fd, all) // otherwise the kernel may merge two
		}
	}

	say(answer)
	l.readConn(ci, c, false)
	l.endUnread(1)
	if sink.Count != 1 || !l.unread.pays() || held(t, fd) != 0 {
		t.Fatalf("the first answer: %d ended, segmented %v, ending %v, %d bytes are held", sink.Count, l.unread.segmented, l.unread.ending, held(t, fd))
	}
	again := func() {
		t.Helper()
		if l.streams.Begin(0); c.state != connBusy {
			t.Fatal("the idle connection is not used")
		}
		if c.unread != 0 || held(t, fd) != 0 {
			t.Errorf("after the next request %d bytes are held, %d counted", held(t, fd), c.unread)
		}
		if _, err := io.ReadFull(peer, make([]byte, len(l.starts[0].h1))); err != nil {
			t.Fatal(err)
		}
	}
	c.proven = true // otherwise popIdle checks it, which removes the bytes
	again()
	say(answer)
	l.readConn(ci, c, false)
	if sink.Count != 2 || held(t, fd) != len(answer) || int(c.unread) != len(answer) {
		t.Fatalf("the second answer: %d ended, %d bytes are held, %d counted", sink.Count, held(t, fd), c.unread)
	}
	again()
	say(answer)
	l.readConn(ci, c, false)
	l.endUnread(2)
	if sink.Count != 3 || held(t, fd) != 0 {
		t.Errorf("after the turn: %d ended, %d bytes are held", sink.Count, held(t, fd))
	}
	again()
	l.cautious = true // popIdle would remove the bytes before the next request
	say(answer)
	l.readConn(ci, c, false)
	if sink.Count != 4 || held(t, fd) != 0 {
		t.Errorf("when every connection is checked: %d ended, %d bytes are held", sink.Count, held(t, fd))
	}
	again()
	l.cautious = false
	say(answer[:len(answer)/2])
	l.readConn(ci, c, false)
	if held(t, fd) == 0 {
		t.Error("half an answer was removed at once")
	}
	l.closeConn(ci, c)
	if n, err := peer.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the peer read %d bytes, %v", n, err)
	}
	if sink.Result.Outcome.Failed() {
		t.Errorf("the last stream ended as %+v", sink.Result)
	}
}

// A response in one segment, or one that does not end with a read, is read without a peek.
func TestBytesAreRemovedAtOnceWhereThatIsCheaper(t *testing.T) {
	for name, c := range map[string]struct {
		segmented   bool
		ended, read int
		want        bool
	}{
		"short streams in many segments": {true, 9, 10, true},
		"short streams in one segment":   {false, 10, 10, false},
		"held streams":                   {true, 1, 10, false},
	} {
		l, _ := bench(t, load.ProtocolConnect, load.CodecJSON, load.HTTP11, fiveLines)
		l.unread.segmented = c.segmented
		for range c.read {
			l.arrived(0)
		}
		l.endUnread(c.ended)
		if l.unread.pays() != c.want {
			t.Errorf("%s: %v", name, l.unread.pays())
		}
		l.endUnread(0) // a turn without a read changes nothing
		if l.unread.pays() != c.want {
			t.Errorf("%s: %v after a turn without a read", name, l.unread.pays())
		}
	}
}

// connected returns a socket of the engine and its peer.
func connected(t *testing.T) (int32, net.Conn) {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = at.Close() }()
	d := dialer{to: at.Addr().(*net.TCPAddr).AddrPort()}
	fd, err := d.connect()
	if err != nil {
		t.Fatal(err)
	}
	peer, err := at.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := peer.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return fd, peer
}

// held returns how many bytes a socket holds.
func held(t *testing.T, fd int32) int {
	t.Helper()
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// awaitHeld waits until a socket holds n bytes.
func awaitHeld(t *testing.T, fd int32, n int) {
	t.Helper()
	testkit.Eventually(t, func() error {
		if came := held(t, fd); came < n {
			return fmt.Errorf("%d of %d bytes came", came, n)
		}
		return nil
	})
}
