package canned

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"assay/fakes/certificate"
	"assay/internal/base/tlsloop"
)

// sealing is paper under TLS, with room for some encrypted bytes.
type sealing struct {
	*paper

	room int
}

func (s *sealing) write(c *conn, p []byte) (int, error) { return writeTLS(c.tls, p) }

// newSealing returns a connection whose handshake is complete.
func newSealing(t *testing.T) (*rig, *conn, *sealing) {
	t.Helper()
	r := newRig(t, twoLines)
	s := &sealing{paper: r.paper, room: 1 << 20}
	r.system = s
	cert, _, err := certificate.SelfSigned("", nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close(); server.Close() })
	c := r.dial()
	c.tls = tlsloop.Server(0, func(_ int32, p []byte) (int, error) {
		n := min(len(p), s.room)
		s.room -= n
		return server.Write(p[:n])
	}, &tls.Config{Certificates: []tls.Certificate{cert}, SessionTicketsDisabled: true})
	done := make(chan error, 1)
	c.tls.Handshake(func(_ tls.ConnectionState, err error) { done <- err })
	go func() {
		shaken := tls.Client(client, &tls.Config{InsecureSkipVerify: true})
		if shaken.Handshake() == nil {
			for p := make([]byte, 4096); err == nil; {
				_, err = shaken.Read(p)
			}
		}
	}()
	for p := make([]byte, 4096); ; {
		server.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if n, _ := server.Read(p); n > 0 {
			c.tls.Feed(p[:n])
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			c.tls.Settle()
			return r, c, s
		default:
		}
	}
}

// Encrypted bytes without room wait for the kernel, and so does the end of the connection.
func TestEncryptedBytesWaitForTheKernel(t *testing.T) {
	t.Parallel()
	r, c, s := newSealing(t)
	s.room = 100
	c.send([]byte(strings.Repeat("x", 1000)))
	r.turn(0)
	if !c.tls.Pending() || !s.watched[c][1] {
		t.Fatalf("pending %v, watched %v", c.tls.Pending(), s.watched[c])
	}
	c.send([]byte("more"))
	c.closeAfter()
	if c.closed {
		t.Fatal("it is closed before everything is sent")
	}
	s.room = 930 // the rest, but not what follows
	c.flush()
	if c.closed || !c.unsent {
		t.Fatal("it is closed before the last bytes are sent")
	}
	s.room = 1 << 20
	c.flush()
	if !c.closed || c.tls.Pending() {
		t.Errorf("closed %v, pending %v", c.closed, c.tls.Pending())
	}
}
