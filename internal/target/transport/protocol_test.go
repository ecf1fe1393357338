package transport

import (
	"bytes"
	"io"
	"net"
	"testing"

	"assay/internal/record/bundle"
)

// upgrading speaks HTTP/1.1 until a head has come, and then a tunnel.
type upgrading struct {
	*http1
	next *tunnel
}

func (u *upgrading) feed(p []byte) {
	head, rest, found := bytes.Cut(p, []byte("\r\n\r\n"))
	u.http1.feed(head)
	if !found {
		return
	}
	u.http1.feed([]byte("\r\n\r\n"))
	u.next.x, u.conn.queue = u.conn.queue[0], nil
	u.conn.proto = u.next
	u.next.feed(rest)
}

// tunnel records the bytes in both directions without a meaning.
type tunnel struct {
	*http1
	x                 *Exchange
	received, written []byte
}

func (t *tunnel) feed(p []byte)                    { t.received = append(t.received, p...) }
func (t *tunnel) sending(p []byte, _ bundle.Stamp) { t.written = append(t.written, p...) }
func (t *tunnel) framed() bool                     { return true }
func (t *tunnel) unannounced()                     {}
func (t *tunnel) idle() bool                       { return false }
func (t *tunnel) underWay() []*Exchange            { return []*Exchange{t.x} }
func (t *tunnel) record(*bundle.Conn) string       { return "a tunnel" }
func (t *tunnel) ended(bundle.Outcome, string) (bundle.Outcome, string) {
	return bundle.OutcomeReset, "the tunnel broke"
}

// A connection that is not TCP changes its protocol in the middle of a read.
func TestAnUpgradeChangesTheProtocolOfAConnection(t *testing.T) {
	ours, theirs := net.Pipe()
	rec := NewRecorder(NewClock(), nil)
	c, err := Attach(t.Context(), rec, "c", ours, Options{})
	if err != nil {
		t.Fatal(err)
	}
	next := &tunnel{http1: c.proto.(*http1)}
	c.mu.Lock()
	c.proto = &upgrading{c.proto.(*http1), next}
	c.mu.Unlock()
	x := c.Begin(Call{Name: "x", Method: "GET"})
	const answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: tunnel\r\n\r\nhello"
	peer := make(chan string)
	go func() {
		buf := make([]byte, 3)
		_, _ = io.ReadFull(theirs, buf)
		_, _ = io.WriteString(theirs, answer)
		said, _ := io.ReadAll(io.LimitReader(theirs, 4))
		_ = theirs.Close()
		peer <- string(said)
	}()
	if err := c.Write(t.Context(), []byte("GET")); err != nil {
		t.Fatal(err)
	}
	for n := int64(0); n < int64(len(answer)); {
		changed := c.Changed()
		if n, _ = c.Received(); n < int64(len(answer)) {
			<-changed
		}
	}
	if c.Idle() {
		t.Error("a tunnel could carry another request")
	}
	if err := c.Write(t.Context(), []byte("back")); err != nil {
		t.Fatal(err)
	}
	if said := <-peer; said != "back" {
		t.Errorf("the peer received %q", said)
	}
	<-x.Done()
	if s := x.Snapshot(); s.Outcome != bundle.OutcomeReset || len(s.Violations) != 0 {
		t.Errorf("the exchange is %s (%s), violations %v", s.Outcome, s.Detail, s.Violations)
	}
	conns, _ := rec.Finish(nil)
	if string(next.received) != "hello" || string(next.written) != "back" || string(conns[0].Sent.Data) != "GETback" {
		t.Errorf("the tunnel has received %q and sent %q, the connection %q", next.received, next.written, conns[0].Sent.Data)
	}
	if dropped := rec.Dropped(); len(dropped) != 1 || dropped[0] != "connection 0: a tunnel" {
		t.Errorf("dropped: %q", dropped)
	}
}

func TestAConnectionThatIsNoTCPEndsInEveryWay(t *testing.T) {
	for _, how := range []string{"fin", "rst", "half", "silent"} {
		ours, theirs := net.Pipe()
		rec := NewRecorder(NewClock(), nil)
		c, err := Attach(t.Context(), rec, "c", ours, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.Close(how)
		conns, _ := rec.Finish(nil)
		if e := conns[0].Ended; e == nil || e.By != "us" || e.How != how {
			t.Errorf("%s: it ended as %+v", how, e)
		}
		_ = theirs.Close()
	}
}
