package transport_test

import (
	"bytes"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/testkit"
)

// A request is sent with its fields in order, as HTTP/2 encodes them.
func TestRequestOverHTTP2SendsItsFieldsAsTheyAreGiven(t *testing.T) {
	got := make(chan []string, 1)
	w := h2Server(t, func(p *h2peer) {
		p.settings()
		f := p.await(http2.FrameHeaders).(*http2.HeadersFrame)
		fields, _ := p.dec.DecodeFull(f.HeaderBlockFragment())
		var all []string
		for _, f := range fields {
			all = append(all, f.Name+"="+f.Value)
		}
		got <- all
		p.headers(f.StreamID, true, ":status", "204")
		p.drain()
	})
	c := newClient(t)
	x, err := c.open(w).Request(c.ctx, transport.Call{Name: "x", Method: "GET", Path: "/a?b", Headers: []bundle.Header{
		{Name: "Zulu", Value: "1"}, {Name: "Host", Value: "gateway:80"}, {Name: "connection", Value: "keep-alive"},
		{Name: "Transfer-Encoding", Value: "chunked"}, {Name: "alpha", Value: "2"}, {Name: "alpha", Value: "3"}}}, true)
	if err != nil {
		t.Fatal(err)
	}
	s := c.done(x)
	want := []string{":method=GET", ":scheme=http", ":path=/a?b", ":authority=gateway:80", "zulu=1", "alpha=2", "alpha=3"}
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	recorded := []bundle.Header{{Name: ":authority", Value: "gateway:80"}, {Name: "zulu", Value: "1"}, {Name: "alpha", Value: "2"}, {Name: "alpha", Value: "3"}}
	if diff := cmp.Diff(recorded, s.Request.Headers); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if s.Outcome != bundle.OutcomeComplete || s.Response.Status != 204 || s.Response.Proto != "HTTP/2" || s.Stream != 1 || s.Sent == nil {
		t.Errorf("exchange = %+v", s)
	}
}

func TestManyStreamsShareOneConnection(t *testing.T) {
	t.Parallel()
	w := serveGateway(t)["h2c"]
	c := newClient(t)
	conn := c.open(w)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			x := c.call(conn, rpc{name: "Start", protocol: "grpc", codec: "proto", message: `{"process":{"cmd":"x","args":["1"]}}`})
			if s := c.done(x); s.Outcome != bundle.OutcomeComplete || kinds(s) != "start data end" || s.GRPC == nil || s.GRPC.Code != 0 {
				t.Errorf("exchange = %+v", s)
			}
		})
	}
	all.Wait()
	conns, xs := c.rec.Finish(nil)
	ids := map[uint32]bool{}
	for _, x := range xs {
		ids[x.Stream] = true
	}
	if len(conns) != 1 || len(ids) != 50 || ids[0] {
		t.Errorf("%d connections, %d streams", len(conns), len(ids))
	}
}

func TestCancelResetsTheStreamAndLeavesTheConnection(t *testing.T) {
	codes := make(chan http2.ErrCode, 1)
	w := h2Server(t, func(p *h2peer) {
		p.settings()
		p.stream(p.request())
		codes <- p.await(http2.FrameRSTStream).(*http2.RSTStreamFrame).ErrCode
		p.f.WriteData(1, true, []byte("on its way"))
		p.whole(p.request())
		p.drain()
	})
	c := newClient(t)
	conn := c.open(w)
	x := c.ask(conn)
	c.until(x, "head", func(s bundle.Exchange) bool { return s.Response != nil })
	x.Cancel(8)
	if s := c.done(x); s.Outcome != bundle.OutcomeAborted || !s.Aborted || !strings.Contains(s.Detail, "CANCEL") {
		t.Errorf("cancelled = %s (%s)", s.Outcome, s.Detail)
	}
	if code := <-codes; code != http2.ErrCodeCancel {
		t.Errorf("code = %s", code)
	}
	if s := c.done(c.ask(conn)); s.Outcome != bundle.OutcomeComplete || len(x.Snapshot().Violations) > 0 {
		t.Errorf("the next one: %s; the cancelled one: %+v", s.Outcome, x.Snapshot().Violations)
	}
}

func TestCancelOnHTTP1EndsTheConnection(t *testing.T) {
	c := newClient(t)
	conn := c.dial(rawServer(t, silent))
	x := c.request(conn, startCall())
	x.Cancel(8)
	if s := c.done(x); s.Outcome != bundle.OutcomeAborted || !s.Aborted {
		t.Errorf("outcome = %s", s.Outcome)
	}
	conns, _ := c.rec.Finish(nil)
	if e := conns[0].Ended; e.By != "us" || e.How != "fin" {
		t.Errorf("ended = %+v", e)
	}
}

func TestPauseHoldsTheAnswerBackUntilResume(t *testing.T) {
	paused := make(chan struct{})
	w := h2Server(t, func(p *h2peer) {
		p.settings()
		id := p.request()
		p.stream(id)
		<-paused
		p.f.WriteData(id, true, []byte(envelope(2, "{}")))
		p.drain()
	})
	c := newClient(t)
	conn := c.open(w)
	x := c.ask(conn)
	c.until(x, "head", func(s bundle.Exchange) bool { return s.Response != nil })
	conn.Pause()
	close(paused)
	select {
	case <-x.Done():
		t.Error("the answer ended while reading was paused")
	case <-paused:
	}
	conn.Rate(1 << 20)
	conn.Resume()
	if s := c.done(x); s.Outcome != bundle.OutcomeComplete {
		t.Errorf("outcome = %s", s.Outcome)
	}
}

func TestCloseEndsEveryStreamAsAborted(t *testing.T) {
	for _, how := range []string{"fin", "rst", "silent"} {
		c := newClient(t)
		conn := c.open(h2Server(t, after(func(p *h2peer, id uint32) { p.stream(id) })))
		first, second := c.ask(conn), c.ask(conn)
		c.until(first, "head", func(s bundle.Exchange) bool { return s.Response != nil })
		conn.Close(how)
		for _, x := range []*transport.Exchange{first, second} {
			if s := c.done(x); s.Outcome != bundle.OutcomeAborted || !s.Aborted {
				t.Errorf("%s: outcome = %s (%s)", how, s.Outcome, s.Detail)
			}
		}
		if conn.Idle() || c.done(c.ask(conn)).Outcome != bundle.OutcomeAborted {
			t.Errorf("%s: the connection can still be used", how)
		}
	}
}

func TestEachVersionHasItsOwnWayToBegin(t *testing.T) {
	ways := serveGateway(t)
	c := newClient(t)
	if s := c.done(c.open(ways["h2c"]).Begin(unaryCall())); s.Outcome != bundle.OutcomeAborted {
		t.Errorf("Begin on HTTP/2: %s", s.Outcome)
	}
	old := c.open(ways["1.1"])
	x, err := old.Request(c.ctx, unaryCall(), true)
	if s := c.done(x); err == nil || s.Outcome != bundle.OutcomeAborted || x.Data(c.ctx, nil, true) == nil || old.H2Frames() != nil {
		t.Errorf("Request on HTTP/1.1: %v, %s", err, s.Outcome)
	}
	if !old.Idle() {
		t.Error("the connection is not idle")
	}
}

func TestGatewayIsSeenThroughTheFramesOfItsConnection(t *testing.T) {
	c := newClient(t, "s3cr3t-token")
	conn := c.open(serveGateway(t)["h2c"])
	call := unaryCall()
	call.Headers = []bundle.Header{{Name: "x-access-token", Value: "s3cr3t-token"}, {Name: "content-type", Value: "application/json"}}
	x, err := conn.Request(c.ctx, call, false)
	if err != nil {
		t.Fatal(err)
	}
	x.Data(c.ctx, []byte("{}"), true)
	c.done(x)
	if !slices.ContainsFunc(conn.H2Frames(), func(f bundle.H2Frame) bool { return f.Type == "HEADERS" && f.Stream == 1 && f.Dir == "received" }) {
		t.Errorf("received = %+v", conn.H2Frames())
	}
	conns, _ := c.rec.Finish(nil)
	var sent []string
	last := int64(0)
	for _, f := range conns[0].H2 {
		if f.Dir == "sent" && f.Type != "WINDOW_UPDATE" {
			sent = append(sent, f.Type)
		}
		if f.At.N < last {
			t.Errorf("frame %+v is out of order", f)
		}
		last = f.At.N
		if strings.Contains(f.Detail, "s3cr3t") {
			t.Errorf("a frame holds the secret: %s", f.Detail)
		}
		if f.Dir == "sent" && f.Type == "HEADERS" && !strings.Contains(f.Detail, ":path: /process.Process/List") {
			t.Errorf("HEADERS say %q", f.Detail)
		}
	}
	slices.Sort(sent[2:]) // the acknowledgement may be in any position
	// Nothing waits for the acknowledgement, so it may be unsent when the exchange
	// ends.
	if want := []string{"preface", "SETTINGS", "DATA", "HEADERS", "SETTINGS"}; !slices.Equal(sent, want) && !slices.Equal(sent, want[:4]) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}

// silent reads and sends nothing.
func silent(c *net.TCPConn) { io.Copy(io.Discard, c) }

// In HPACK, the escaped forms of a secret look like no form of it.
func TestASecretInAHeaderBlockIsNotRecorded(t *testing.T) {
	t.Parallel()
	const token = `t0ken"with\%41<&>-0123456789`
	for name, encode := range testkit.Encodings {
		if strings.Contains(name, "Huffman") {
			continue // it is no text
		}
		t.Run(name, func(t *testing.T) {
			echo := encode(token)
			w := h2Server(t, func(p *h2peer) {
				p.settings()
				stream := p.request()
				p.headers(stream, false, ":status", "200", "x-before", "1", "x-echo", echo)
				p.f.WriteData(stream, true, []byte("visible"))
				p.drain()
			})
			c := newClient(t, token)
			x, err := c.open(w).Request(c.ctx, transport.Call{Name: "x", Method: "GET", Path: "/", Headers: []bundle.Header{{Name: "Host", Value: "gateway"}}}, true)
			if err != nil {
				t.Fatal(err)
			}
			c.done(x)
			conns, _ := c.rec.Finish(nil)
			raw := conns[0].Received.Data
			code := hpack.AppendHuffmanString(nil, echo)
			if bytes.Contains(raw, code[len(code)/2:len(code)-2]) || bytes.Contains(raw, []byte(echo)) || !bytes.HasSuffix(raw, []byte("visible")) {
				t.Errorf("received %q", raw)
			}
		})
	}
}
