package transport_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/testkit"
)

// A misbehaving peer ends in the outcome that names its misbehaviour.
func TestHostilePeerEndsInANamedOutcome(t *testing.T) {
	say := func(s string, then func(c *net.TCPConn)) func(c *net.TCPConn) {
		return func(c *net.TCPConn) {
			if _, ok := readRequest(bufio.NewReader(c)); !ok {
				return
			}
			io.WriteString(c, s)
			if then != nil {
				then(c)
			}
		}
	}
	fin := func(c *net.TCPConn) { c.Close() }
	rst := func(c *net.TCPConn) { c.SetLinger(0); c.Close() }
	chunked := "HTTP/1.1 200 OK\r\n" + streamJSON + "Transfer-Encoding: chunked\r\n\r\n"
	tests := []struct {
		name       string
		serve      func(c *net.TCPConn)
		outcome    bundle.Outcome
		violations string
		how        string // who ended the connection, and how
	}{
		{"closes at once", say("", fin), bundle.OutcomeClosed, "", "peer fin"},
		{"resets at once", say("", rst), bundle.OutcomeReset, "", "peer rst"},
		{"closes inside the head", say("HTTP/1.1 200 OK\r\nA: b", fin), bundle.OutcomeClosed, "http.truncated", "peer fin"},
		{"closes inside a length", say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", fin), bundle.OutcomeClosed, "http.truncated", "peer fin"},
		{"closes inside chunks", say(chunked+"3\r\nabc", fin), bundle.OutcomeClosed, "http.truncated", "peer fin"},
		{"a body until close ends by close", say("HTTP/1.1 200 OK\r\n"+streamJSON+"\r\n"+envelope(2, "{}"), fin), bundle.OutcomeComplete, "", "peer fin"},
		{"a stream cut in an envelope by close is complete HTTP", say("HTTP/1.1 200 OK\r\n"+streamJSON+"\r\n\x00\x00", fin), bundle.OutcomeComplete, "envelope.truncated-header", "peer fin"},
		{"does not speak HTTP", say("SSH-2.0-OpenSSH\r\n", nil), bundle.OutcomeGarbage, "http.status-line", "us fin"},
		{"is TLS", say("\x15\x03\x01\x00\x02\x02\x16", fin), bundle.OutcomeGarbage, "http.status-line", "peer fin"},
		{"sends HTML without a head", say("<html><body>hello</body></html>", fin), bundle.OutcomeGarbage, "http.status-line", "peer fin"},
		{"sends a broken chunk", say(chunked+"xyz\r\n", nil), bundle.OutcomeGarbage, "http.chunk", "us fin"},
		{"promises 2 GiB and sends on", say(chunked+"6\r\n\x00\x80\x00\x00\x00a\r\n0\r\n\r\n", nil), bundle.OutcomeComplete, "envelope.length-over-limit", "us fin"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t)
			conn := c.dial(rawServer(t, tt.serve))
			c.done(c.request(conn, startCall()))
			if strings.HasPrefix(tt.how, "peer") {
				c.untilConn(conn, "closed by the peer", conn.PeerClosed)
			}
			conns, xs := c.rec.Finish(nil)
			x := xs[0]
			if x.Outcome != tt.outcome {
				t.Errorf("outcome = %s (%s), want %s", x.Outcome, x.Detail, tt.outcome)
			}
			if got := violations(x); got != tt.violations {
				t.Errorf("violations = %q, want %q", got, tt.violations)
			}
			if got := conns[0].Ended.By + " " + conns[0].Ended.How; got != tt.how {
				t.Errorf("connection ended by %q, want %q", got, tt.how)
			}
			if x.Returned == nil {
				t.Error("the exchange has no time of return")
			}
		})
	}
}

func TestResetInAStreamUntilCloseIsNoCompleteAnswer(t *testing.T) {
	seen := make(chan struct{})
	addr := rawServer(t, func(c *net.TCPConn) {
		readRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 200 OK\r\n"+streamJSON+"\r\n"+envelope(0, startEvent))
		<-seen
		c.SetLinger(0)
		c.Close()
	})
	c := newClient(t)
	x := c.request(c.dial(addr), startCall())
	c.until(x, "start", func(s bundle.Exchange) bool { return len(s.Events) == 1 })
	close(seen)
	if s := c.done(x); s.Outcome != bundle.OutcomeReset || kinds(s) != "start" {
		t.Errorf("outcome = %s, events %q; want reset after start", s.Outcome, kinds(s))
	}
}

func TestEndlessHeadersEndAsGarbageWithBoundedMemoryAndReading(t *testing.T) {
	t.Parallel()
	addr := rawServer(t, func(c *net.TCPConn) {
		readRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		line := []byte(strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 32))
		for {
			if _, err := c.Write(line); err != nil {
				return
			}
		}
	})
	c := newClient(t)
	conn := c.dial(addr)
	x := c.done(c.request(conn, startCall()))
	if x.Outcome != bundle.OutcomeGarbage || violations(x) != "http.head-over-limit" {
		t.Errorf("outcome = %s, violations %q", x.Outcome, violations(x))
	}
	if conn.Idle() {
		t.Error("a connection without framing is idle")
	}
	again := c.done(conn.Begin(unaryCall()))
	if again.Outcome != bundle.OutcomeGarbage {
		t.Errorf("an exchange after it: %s", again.Outcome)
	}
}

func TestHugeBodyIsCountedButNotKept(t *testing.T) {
	t.Parallel()
	const size = 40 << 20
	addr := rawServer(t, func(c *net.TCPConn) {
		readRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 41943040\r\n\r\n")
		block := make([]byte, 1<<20)
		for range size >> 20 {
			if _, err := c.Write(block); err != nil {
				return
			}
		}
	})
	c := newClient(t)
	x := c.request(c.dial(addr), plainCall())
	c.done(x)
	if n := len(x.BodyBytes()); n != 16<<20 {
		t.Errorf("%d bytes kept, want %d (%s, %s)", n, 16<<20, x.Snapshot().Outcome, x.Snapshot().Detail)
	}
	_, xs := c.rec.Finish(nil)
	b := xs[0].Body
	if b.Len != size || b.Data != nil || len(b.Head) != bundle.BlobEdge || len(b.Tail) != bundle.BlobEdge || xs[0].Outcome != bundle.OutcomeComplete {
		t.Errorf("body = %d bytes, %d head, %d tail, outcome %s", b.Len, len(b.Head), len(b.Tail), xs[0].Outcome)
	}
}

func TestLengthOf2GiBAllocatesNothing(t *testing.T) {
	addr := answering(t, false, "HTTP/1.1 200 OK\r\n"+streamJSON+"Transfer-Encoding: chunked\r\n\r\n5\r\n\x00\x7f\xff\xff\xff\r\n")
	c := newClient(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	x := c.request(c.dial(addr), startCall())
	s := c.until(x, "the violation", func(s bundle.Exchange) bool { return len(s.Violations) > 0 })
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("%d bytes allocated for a promise", grown)
	}
	if s.Outcome != "" || s.Violations[0].Kind != "envelope.length-over-limit" {
		t.Errorf("outcome %q, violations %+v", s.Outcome, s.Violations)
	}
	x.GiveUp(bundle.OutcomeStalled, "deadline of 1s")
	if s := c.done(x); s.Outcome != bundle.OutcomeStalled || s.Detail != "deadline of 1s" {
		t.Errorf("given up: %s %q", s.Outcome, s.Detail)
	}
}

func TestManyFramesAreBoundedAndTheEndIsStillSeen(t *testing.T) {
	t.Parallel()
	const frames = 25_000
	body := envelope(0, startEvent) + strings.Repeat(envelope(0, `{"event":{"data":{"stdout":"eA=="}}}`), frames) +
		envelope(0, endEvent) + envelope(2, "{}")
	c := newClient(t)
	c.done(c.request(c.dial(answering(t, false, respond(200, streamJSON, body))), startCall()))
	_, xs := c.rec.Finish(nil)
	x := xs[0]
	if n := len(x.Events); n > 21_000 || x.Events[n-1].Kind != bundle.EventEnd {
		t.Errorf("%d events, the last is %s", n, x.Events[n-1].Kind)
	}
	if last := x.Frames[len(x.Frames)-1]; last.Flags != 2 || x.EndStream == nil {
		t.Errorf("the last frame has flags %d, end of stream %v", last.Flags, x.EndStream)
	}
	if x.Outputs["stdout"].Len != frames {
		t.Errorf("stdout has %d bytes, want %d", x.Outputs["stdout"].Len, frames)
	}
	if !strings.Contains(x.Detail, "frames") || len(c.rec.Dropped()) != 1 {
		t.Errorf("the omissions are not reported: %q, %q", x.Detail, c.rec.Dropped())
	}
	for _, e := range x.Events {
		if e.Frame >= 0 && x.Frames[e.Frame].Event >= 0 && x.Events[x.Frames[e.Frame].Event].Kind != e.Kind {
			t.Fatalf("event %+v and frame %+v do not point to each other", e, x.Frames[e.Frame])
		}
	}
}

func TestRefusedConnectionIsRecorded(t *testing.T) {
	c := newClient(t)
	addr, _ := testkit.ClosedPort(t)
	_, err := transport.Open(c.ctx, c.rec, "c", addr, transport.Options{})
	var dial *transport.DialError
	if !errors.As(err, &dial) || !errors.Is(err, syscall.ECONNREFUSED) || dial.Conn != 0 {
		t.Fatalf("err = %v", err)
	}
	x := c.done(c.rec.Failed(startCall(), dial.Conn, err))
	if x.Outcome != bundle.OutcomeNoConnect || !strings.Contains(x.Detail, "refused") {
		t.Errorf("exchange = %s %q", x.Outcome, x.Detail)
	}
	conns, xs := c.rec.Finish(nil)
	if len(conns) != 1 || conns[0].DialError == "" || conns[0].Connected != nil || len(xs) != 1 || xs[0].Conn != 0 {
		t.Errorf("conns = %+v, exchanges = %+v", conns, xs)
	}
}

func TestWriteEndsWithItsContext(t *testing.T) {
	t.Parallel()
	under := make(chan struct{})
	addr := rawServer(t, func(c *net.TCPConn) { // reads only the beginning
		c.Read(make([]byte, 1))
		close(under)
	})
	c := newClient(t)
	conn := c.dial(addr)
	ctx, cancel := context.WithCancel(c.ctx)
	x := conn.Begin(plainCall())
	failed := make(chan error)
	go func() { failed <- conn.Write(ctx, make([]byte, 64<<20)) }()
	<-under
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want canceled", err)
	}
	x.GiveUp(bundle.OutcomeNoAnswer, "deadline")
	conns, xs := c.rec.Finish(nil)
	if conns[0].Sent.Len == 64<<20 || xs[0].Outcome != bundle.OutcomeNoAnswer || xs[0].Sent != nil {
		t.Errorf("%d bytes recorded as sent, outcome %s", conns[0].Sent.Len, xs[0].Outcome)
	}
}
