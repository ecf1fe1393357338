package transport_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

func TestBytesAreSentAsTheyAreGiven(t *testing.T) {
	got := make(chan string, 1)
	addr := rawServer(t, func(c *net.TCPConn) {
		all, _ := io.ReadAll(c)
		got <- string(all)
		io.WriteString(c, respond(400, "", "no"))
		c.Close()
	})
	c := newClient(t)
	conn := c.dial(addr)
	for _, p := range []string{"PO", "ST / HTTP/9.9\r\n", "\x00"} {
		if err := conn.Write(c.ctx, []byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	conn.Close("half")
	if want := "POST / HTTP/9.9\r\n\x00"; <-got != want {
		t.Errorf("the server did not receive %q", want)
	}
	x := c.done(conn.Raw())
	if x.Op != "raw" || x.Name != "c" || x.Outcome != bundle.OutcomeComplete || x.Response.Status != 400 {
		t.Errorf("raw answer = %+v", x)
	}
	c.untilConn(conn, "closed", conn.PeerClosed)
	if err := conn.Write(c.ctx, []byte("x")); !errors.Is(err, transport.ErrEnded) {
		t.Errorf("write after FIN: %v", err)
	}
	conns, xs := c.rec.Finish(nil)
	w := conns[0].Writes
	if len(w) != 3 || w[1].Off != 2 || w[1].Len != 15 || string(conns[0].Sent.Data) != "POST / HTTP/9.9\r\n\x00" {
		t.Errorf("writes = %+v, sent %q", w, conns[0].Sent.Data)
	}
	if e := conns[0].Ended; e.By != "peer" || e.How != "fin" || len(xs) != 1 {
		t.Errorf("ended = %+v, %d exchanges", e, len(xs))
	}
}

func TestPipelinedExchangesAreAnsweredInOrder(t *testing.T) {
	addr := rawServer(t, func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		readRequest(r)
		readRequest(r)
		io.WriteString(c, respond(200, plainJSON, `"a"`)+respond(404, plainJSON, `{"code":"not_found"}`))
	})
	c := newClient(t)
	conn := c.dial(addr)
	a, b := c.request(conn, unaryCall()), c.request(conn, unaryCall())
	if s := c.done(a); s.Response.Status != 200 || s.ID != 0 {
		t.Errorf("first = %+v", s)
	}
	if s := c.done(b); s.Response.Status != 404 || s.ID != 1 || s.Error.Code != "not_found" {
		t.Errorf("second = %+v", s)
	}
	if !conn.Idle() {
		t.Error("the connection is not idle")
	}
}

func TestHeadHasNoBody(t *testing.T) {
	c := newClient(t)
	conn := c.dial(answering(t, false, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"))
	call := plainCall()
	call.Method = "HEAD"
	if s := c.done(c.request(conn, call)); s.Outcome != bundle.OutcomeComplete || s.Response.Framing != "none" {
		t.Errorf("answer to HEAD = %s %+v", s.Outcome, s.Response)
	}
	if !conn.Idle() {
		t.Error("the connection is not idle")
	}
}

func TestBytesThatNobodyAskedForAreABreach(t *testing.T) {
	c := newClient(t)
	conn := c.dial(answering(t, false, respond(200, "", "x")+"HTTP/1.1 200 OK\r\n\r\n"))
	x := c.request(conn, plainCall())
	c.done(x)
	s := c.until(x, "the violation", func(s bundle.Exchange) bool { return len(s.Violations) > 0 })
	if violations(s) != "http.extra-bytes" || s.Violations[0].In != "http" || s.Outcome != bundle.OutcomeComplete {
		t.Errorf("violations = %+v, outcome %s", s.Violations, s.Outcome)
	}
	if conn.Idle() {
		t.Error("a connection with left-over bytes is idle")
	}
}

func TestConnectionCloseIsNotIdle(t *testing.T) {
	for field, idle := range map[string]bool{
		"Connection: Close": false, "Connection: close, x": false, "Connection: x,\tCLOSE ": false, "Connection: x\r\nConnection: close": false,
		"Connection: keep-alive": true, "Connection: closed, x": true,
	} {
		t.Run(field, func(t *testing.T) {
			c := newClient(t)
			conn := c.dial(answering(t, false, respond(200, field+"\r\n", "x")))
			c.done(c.request(conn, plainCall()))
			if conn.Idle() != idle {
				t.Errorf("idle is %v, want %v", conn.Idle(), idle)
			}
		})
	}
}

func TestUnannouncedAnswersAreRawInTheirShape(t *testing.T) {
	stream := respond(200, streamJSON, envelope(0, startEvent)+envelope(2, "{}"))
	c := newClient(t)
	conn := c.dial(answering(t, false, stream))
	conn.SetShape(bundle.ShapeStream, "json")
	for range 2 {
		if err := conn.Write(c.ctx, []byte("GET / HTTP/1.1\r\nHost: t\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	length := int64(2 * len(stream))
	c.untilConn(conn, "both answers", func() bool { n, _ := conn.Received(); return n == length })
	_, xs := c.rec.Finish(nil)
	if len(xs) != 2 {
		t.Fatalf("%d exchanges, want 2", len(xs))
	}
	for _, x := range xs {
		if x.Op != "raw" || kinds(x) != "start" || x.Outcome != bundle.OutcomeComplete {
			t.Errorf("raw answer: %s, events %q, %s", x.Op, kinds(x), x.Outcome)
		}
	}
}

func TestRawBytesWithoutAnswer(t *testing.T) {
	tests := []struct {
		name  string
		serve func(c *net.TCPConn)
		want  bundle.Outcome
	}{
		{"get a close", func(c *net.TCPConn) { c.Read(make([]byte, 1)); c.CloseWrite() }, bundle.OutcomeClosed},
		{"get silence", func(*net.TCPConn) {}, bundle.OutcomeNoAnswer},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t)
			conn := c.dial(rawServer(t, tt.serve))
			if err := conn.Write(c.ctx, []byte("x")); err != nil {
				t.Fatal(err)
			}
			if tt.want == bundle.OutcomeClosed {
				c.done(conn.Raw())
			}
			_, xs := c.rec.Finish(nil)
			if len(xs) != 1 || xs[0].Outcome != tt.want {
				t.Errorf("exchanges = %+v", xs)
			}
		})
	}
}

func TestWaysToEndAConnection(t *testing.T) {
	tests := []struct {
		how     string
		peer    string // what the peer's read returns
		outcome bundle.Outcome
	}{
		{"fin", "EOF", bundle.OutcomeAborted},
		{"rst", "reset", bundle.OutcomeAborted},
		{"half", "EOF", bundle.OutcomeComplete},
		{"silent", "", bundle.OutcomeAborted},
	}
	for _, tt := range tests {
		t.Run(tt.how, func(t *testing.T) {
			ended := make(chan error, 1)
			addr := rawServer(t, func(c *net.TCPConn) {
				r := bufio.NewReader(c)
				readRequest(r)
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")
				_, err := r.ReadByte()
				ended <- err
				io.WriteString(c, "x")
			})
			c := newClient(t)
			conn := c.dial(addr)
			x := c.request(conn, plainCall())
			c.until(x, "head", func(s bundle.Exchange) bool { return s.Response != nil })
			conn.Close(tt.how)
			s := c.done(x)
			if s.Outcome != tt.outcome || s.Aborted != (tt.outcome == bundle.OutcomeAborted) {
				t.Errorf("outcome = %s, aborted %v", s.Outcome, s.Aborted)
			}
			if tt.peer != "" {
				if err := <-ended; !strings.Contains(err.Error(), tt.peer) {
					t.Errorf("the peer read %v, want %s", err, tt.peer)
				}
			}
			conns, _ := c.rec.Finish(nil)
			if e := conns[0].Ended; e.By != "us" || e.How != tt.how {
				t.Errorf("ended = %+v", e)
			}
		})
	}
}

// The kernel reports a reset once, to the first write or read after it.
func TestResetIsSeenWhileARequestIsWritten(t *testing.T) {
	t.Parallel()
	body := make([]byte, 64<<20)
	for range 20 {
		addr := rawServer(t, func(c *net.TCPConn) {
			c.Read(make([]byte, 1))
			c.SetLinger(0)
			c.Close()
		})
		c := newClient(t)
		conn := c.dial(addr)
		x := conn.Begin(plainCall())
		if err := conn.Write(c.ctx, body); err == nil {
			t.Fatal("all was written to a peer that reads one byte")
		}
		if s := c.done(x); s.Outcome != bundle.OutcomeReset {
			t.Fatalf("outcome = %s (%s)", s.Outcome, s.Detail)
		}
	}
}

func TestPausedReaderReadsNothingUntilResumed(t *testing.T) {
	t.Parallel()
	sent := make(chan struct{})
	paused := make(chan struct{})
	addr := rawServer(t, func(c *net.TCPConn) {
		readRequest(bufio.NewReader(c))
		<-paused
		// The first byte is sent, whatever happens at the deadline.
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 67108865\r\n\r\nx")
		c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		c.Write(make([]byte, 64<<20)) // more than the kernel buffers: no one reads it
		close(sent)
	})
	c := newClient(t)
	conn := c.dial(addr)
	x := c.request(conn, plainCall())
	conn.Pause()
	close(paused)
	<-sent
	if n, _ := conn.Received(); n != 0 {
		t.Errorf("%d bytes were read while paused", n)
	}
	conn.Resume()
	c.until(x, "the body", func(s bundle.Exchange) bool { return s.Response != nil && s.Response.Body > 0 })
	if n, last := conn.Received(); n == 0 || last == (bundle.Stamp{}) {
		t.Errorf("received %d at %+v", n, last)
	}
}

func TestRateBoundsTheReader(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", 20_000)
	c := newClient(t)
	conn := c.dial(answering(t, false, respond(200, "", body)))
	conn.Rate(100_000) // 20 kB take at least 0.15 s
	x := c.request(conn, plainCall())
	s := c.done(x)
	if took := s.Returned.T - s.Invoked.T; took < 150e6 {
		t.Errorf("20 kB at 100 kB/s took %d ms", took/1e6)
	}
	conns, _ := c.rec.Finish(nil)
	for _, r := range conns[0].Reads {
		if r.Len > 1000 {
			t.Fatalf("one read of %d bytes at 100 kB/s", r.Len)
		}
	}
}

func TestAbortedExchangeStaysAbortedWhoeverCutsIt(t *testing.T) {
	hangUp := make(chan struct{})
	addr := rawServer(t, func(c *net.TCPConn) { <-hangUp; c.Close() })
	c := newClient(t)
	x := c.request(c.dial(addr), startCall())
	x.Abort()
	close(hangUp)
	if s := c.done(x); s.Outcome != bundle.OutcomeAborted || !s.Aborted {
		t.Errorf("outcome = %s, aborted %v", s.Outcome, s.Aborted)
	}
}

func TestBeginOnAClosedConnectionReturnsAtOnce(t *testing.T) {
	addr := rawServer(t, func(c *net.TCPConn) { c.Close() })
	c := newClient(t)
	conn := c.dial(addr)
	c.untilConn(conn, "closed", conn.PeerClosed)
	if s := c.done(conn.Begin(startCall())); s.Outcome != bundle.OutcomeClosed {
		t.Errorf("outcome = %s", s.Outcome)
	}
}

func TestFinishEndsWhatIsUnderWay(t *testing.T) {
	c := newClient(t)
	x := c.request(c.dial(rawServer(t, func(*net.TCPConn) {})), startCall())
	conns, xs := c.rec.Finish(nil)
	if xs[0].Outcome != bundle.OutcomeAborted || xs[0].Aborted || xs[0].Returned == nil {
		t.Errorf("exchange = %s, aborted by script %v", xs[0].Outcome, xs[0].Aborted)
	}
	if e := conns[0].Ended; e.By != "us" || e.How != "fin" {
		t.Errorf("ended = %+v", e)
	}
	if _, err := transport.Open(c.ctx, c.rec, "late", conns[0].Remote, transport.Options{}); err == nil {
		t.Error("a dial after Finish succeeded")
	}
	c.done(x)
}
