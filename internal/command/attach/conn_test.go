package attach

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// stuck returns a connection whose peer does not read, with as much queued as input may queue.
func stuck(t *testing.T) (c *conn, peer net.Conn, queued []byte) {
	t.Helper()
	near, far := net.Pipe()
	c = newConn(near, &pulse{clock: Clock{}.orReal()})
	t.Cleanup(func() {
		_ = c.Close()
		_ = far.Close()
	})
	for len(queued) < roomForInput {
		p := bytes.Repeat([]byte{byte(len(queued) >> 10)}, 1<<10)
		if _, err := c.Write(p); err != nil {
			t.Fatal(err)
		}
		queued = append(queued, p...)
	}
	return c, far, queued
}

func TestInputWaitsForRoomAndControlsDoNot(t *testing.T) {
	c, peer, want := stuck(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.room(ended, roomForInput); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want no room for input", err)
	}
	if _, err := c.Write([]byte("pong")); err != nil {
		t.Errorf("a control message: %v", err)
	}
	got := make([]byte, len(want)+4)
	if _, err := io.ReadFull(peer, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, append(want, "pong"...)) {
		t.Error("the bytes came in another order")
	}
	if err := c.room(t.Context(), roomForInput); err != nil {
		t.Errorf("%v, want room", err)
	}
}

func TestTheEndOfAConnectionEndsItsWaits(t *testing.T) {
	for name, end := range map[string]func(c *conn, peer net.Conn){
		"closed here":  func(c *conn, _ net.Conn) { _ = c.Close() },
		"closed there": func(_ *conn, peer net.Conn) { _ = peer.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			c, peer, _ := stuck(t)
			waited := make(chan error)
			go func() { waited <- c.room(context.Background(), 1) }()
			end(c, peer)
			if err := <-waited; err == nil {
				t.Error("there is no room in a connection that has ended")
			}
			if _, err := c.Write([]byte("more")); err == nil {
				t.Error("nothing can be written any more")
			}
		})
	}
}

func TestReadingBeatsThePulse(t *testing.T) {
	now := time.Unix(100, 0)
	near, far := net.Pipe()
	p := &pulse{clock: Clock{Now: func() time.Time { return now }}}
	c := newConn(near, p)
	defer c.Close()
	over := p.wait()
	now = now.Add(silence - 1)
	if p.silent() {
		t.Error("it is silent before its time")
	}
	now = now.Add(1)
	if !p.silent() {
		t.Error("it is not silent")
	}
	if over(); p.silent() {
		t.Error("it is silent although nobody waits")
	}
	if p.wait(); p.silent() {
		t.Error("it is silent before anybody has waited for so long")
	}
	now = now.Add(silence)
	go func() { _, _ = far.Write([]byte("x")) }()
	if _, err := c.Read(make([]byte, 1)); err != nil || p.silent() {
		t.Errorf("%v; a byte does not end the silence", err)
	}
	_ = far.Close()
}
