package stdio

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWritesDoNotWaitForTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		c := newCalmConn(server)
		var want strings.Builder
		for i := range 100 {
			piece := strings.Repeat(string(rune('a'+i%26)), 1000)
			want.WriteString(piece)
			if n, err := c.Write([]byte(piece)); n != 1000 || err != nil {
				t.Fatal(n, err)
			}
		}
		if n := c.backlog(); n != 100_000 {
			t.Errorf("%d bytes wait", n)
		}
		_ = c.Close()
		if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a write behind the close: %v", err)
		}
		got, err := io.ReadAll(io.LimitReader(client, 100_000))
		if string(got) != want.String() || err != nil {
			t.Errorf("%d bytes, or others, %v", len(got), err)
		}
		_ = client.Close()
		<-c.ended
	})
}

func TestAWriteDuringASlowOneChangesNothingOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		c := newCalmConn(server)
		for range 5 {
			_, _ = c.Write([]byte("first"))
			synctest.Wait() // it is being written
			_, _ = c.Write([]byte("other"))
			got := make([]byte, 10)
			if _, err := io.ReadFull(client, got); err != nil || string(got) != "firstother" {
				t.Errorf("%q, %v", got, err)
			}
			synctest.Wait() // nothing waits
		}
		_ = c.Close()
		_ = client.Close()
		<-c.ended
	})
}

func TestRoomIsThereWhenTheClientHasTakenEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		c := newCalmConn(server)
		_, _ = c.Write(make([]byte, 100_000))
		var found bool
		waited := make(chan struct{})
		go func() { defer close(waited); found = c.room(60_000, nil) }()
		synctest.Wait()
		select {
		case <-waited:
			t.Error("there was room for 60,000 over 100,000")
		default:
		}
		_, _ = io.CopyN(io.Discard, client, 50_000)
		<-waited
		quit := make(chan struct{})
		close(quit)
		if !found || c.room(0, quit) || !c.room(100_000, quit) {
			t.Error("room is wrong")
		}
		_ = client.Close()
		<-c.ended
		if c.room(1<<30, nil) {
			t.Error("there is room on a broken connection")
		}
	})
}

func TestAClientThatTakesNothingEndsTheWaitForItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		began := time.Now()
		c := newCalmConn(server)
		_, _ = c.Write([]byte("unread"))
		_ = c.Close()
		<-c.ended
		if d := time.Since(began); d != lingerLimit {
			t.Errorf("it took %v", d)
		}
		_ = client.Close()
	})
}

// A connection that is closed over unread input is reset, and the rest of the output is lost.
func TestAClosedConnectionIsNotResetOverWhatItsClientSends(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := newCalmConn(server)
	const size = 16 << 20 // more than the kernel holds
	_, _ = c.Write(make([]byte, size))
	_ = c.Close()
	total := 0
	for piece := make([]byte, 64<<10); ; {
		_, _ = client.Write([]byte("still here"))
		n, err := client.Read(piece)
		total += n
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v behind %d bytes", err, total)
		}
	}
	if total != size {
		t.Errorf("%d bytes, want %d", total, size)
	}
	_ = client.Close()
	<-c.ended
}

func TestACloseEndsARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		c := newCalmConn(server)
		read := make(chan error, 1)
		go func() {
			_, err := c.Read(make([]byte, 1))
			read <- err
		}()
		synctest.Wait()
		began := time.Now()
		_ = c.Close()
		if err := <-read; err == nil || time.Since(began) > 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		_ = client.Close()
		<-c.ended
	})
}
