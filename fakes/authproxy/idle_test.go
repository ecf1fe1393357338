package authproxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"assay/internal/testkit"
)

// pipes is a listener in memory, for the time of testing/synctest.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	close(p.closed)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours, nil
}

// idleAfter is the time without bytes after which connections end in these tests.
const idleAfter = 65 * time.Second

// inMemory serves a handler behind a proxy that ends idle connections, in a bubble.
func inMemory(t *testing.T, h http.HandlerFunc, test func(t *testing.T, g *rig, p pipes)) {
	t.Helper()
	inMemoryBehind(t, func(w http.ResponseWriter) http.ResponseWriter { return w }, h, test)
}

// inMemoryBehind is inMemory with a decorated writer.
func inMemoryBehind(t *testing.T, decorate func(http.ResponseWriter) http.ResponseWriter, h http.HandlerFunc, test func(t *testing.T, g *rig, p pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, Limits{Idle: idleAfter}, func(o *Options) { o.Now = nil })
		p := pipes{make(chan net.Conn), make(chan struct{})}
		over := g.proxy.Over(h)
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { over.ServeHTTP(decorate(w), r) })}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.Serve(p)
		}()
		test(t, g, p)
		_ = s.Close()
		<-ended
	})
}

// request sends the head of a request over a new connection, and reads the head of its response.
func request(t *testing.T, p pipes, head string) (net.Conn, *bufio.Reader, *http.Response) {
	t.Helper()
	c, _ := p.dial(t.Context(), "", "")
	if _, err := io.WriteString(c, head+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, r, resp
}

// returned is the writer of a request over HTTP/2 whose handler has returned.
type returned struct{ http.ResponseWriter }

func (returned) SetReadDeadline(time.Time) error  { panic("the handler has returned") }
func (returned) SetWriteDeadline(time.Time) error { panic("the handler has returned") }

// The timer may have decided to end the request before its handler returns.
func TestTheWriterOfAHandlerThatHasReturnedGetsNoDeadline(t *testing.T) {
	t.Parallel()
	c := &channel{writer: returned{}, cancel: func() {}, leave: func() {}}
	c.end()
	c.expire()
}

// plain is a writer without deadlines, as those of many decorators are.
type plain struct {
	http.ResponseWriter
	http.Flusher
}

// A stream that is cut must not look like one that ended.
func TestAnIdleStreamIsCut(t *testing.T) {
	t.Parallel()
	for name, decorate := range map[string]func(http.ResponseWriter) http.ResponseWriter{
		"by its deadlines":  func(w http.ResponseWriter) http.ResponseWriter { return w },
		"without deadlines": func(w http.ResponseWriter) http.ResponseWriter { return plain{w, w.(http.Flusher)} },
	} {
		t.Run(name, func(t *testing.T) { idleStream(t, decorate) })
	}
}

func idleStream(t *testing.T, decorate func(http.ResponseWriter) http.ResponseWriter) {
	gone := make(chan error, 1)
	inMemoryBehind(t, decorate, func(w http.ResponseWriter, r *http.Request) {
		for range 3 { // with pauses that are shorter
			_, _ = io.WriteString(w, "tick\n")
			_ = http.NewResponseController(w).Flush()
			testkit.Advance(idleAfter - time.Second)
		}
		<-r.Context().Done()
		gone <- r.Context().Err()
	}, func(t *testing.T, g *rig, p pipes) {
		begin := time.Now()
		_, _, resp := request(t, p, "GET /attach?token="+g.all()+" HTTP/1.1\r\nHost: test")
		text, err := io.ReadAll(resp.Body)
		if string(text) != "tick\ntick\ntick\n" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %q, %v", text, err)
		}
		if took := time.Since(begin); took != 2*(idleAfter-time.Second)+idleAfter {
			t.Errorf("it took %v", took)
		}
		if err := <-gone; err == nil {
			t.Error("the handler goes on")
		}
	})
}

func TestTheBytesOfARequestCountAsWell(t *testing.T) {
	inMemory(t, func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		_, _ = w.Write(text)
		if err != nil {
			t.Error(err)
		}
	}, func(t *testing.T, g *rig, p pipes) {
		c, _ := p.dial(t.Context(), "", "")
		_, _ = io.WriteString(c, "POST /attach?token="+g.all()+" HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\n")
		for range 4 {
			testkit.Advance(idleAfter - time.Second)
			_, _ = io.WriteString(c, "x")
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(resp.Body); string(text) != "xxxx" || err != nil {
			t.Errorf("got %q, %v", text, err)
		}
		_ = c.Close()
	})
}

func TestAHandlerThatDoesNotListenIsEndedToo(t *testing.T) {
	inMemory(t, func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			t.Error("the body ended")
		}
	}, func(t *testing.T, g *rig, p pipes) {
		c, _ := p.dial(t.Context(), "", "")
		_, _ = io.WriteString(c, "POST /attach?token="+g.all()+" HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\n")
		if text, err := io.ReadAll(c); err != nil || len(text) > 0 {
			t.Errorf("got %q, %v", text, err)
		}
	})
}

// echo sends every message back.
func echo(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	c.SetReadLimit(8 << 20)
	defer c.CloseNow()
	for {
		kind, p, err := c.Read(context.Background())
		if err != nil || c.Write(context.Background(), kind, p) != nil {
			return
		}
	}
}

// dialIn opens a WebSocket in memory.
func dialIn(t *testing.T, g *rig, p pipes) (c *websocket.Conn, end func()) {
	t.Helper()
	transport := &http.Transport{DialContext: p.dial}
	c, _, err := websocket.Dial(t.Context(), "ws://test/attach?token="+g.all(), &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return c, func() {
		_ = c.CloseNow()
		transport.CloseIdleConnections()
	}
}

func TestAnIdleWebSocketGetsACloseFrame(t *testing.T) {
	inMemory(t, echo, func(t *testing.T, g *rig, p pipes) {
		c, end := dialIn(t, g, p)
		defer end()
		begin := time.Now()
		for range 3 {
			testkit.Advance(idleAfter - time.Second)
			if err := c.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
				t.Fatal(err)
			}
			if _, text, err := c.Read(t.Context()); string(text) != "hello" || err != nil {
				t.Fatalf("got %q, %v", text, err)
			}
		}
		_, _, err := c.Read(t.Context())
		var closed websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != websocket.StatusGoingAway || closed.Reason != "idle" {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took != 3*(idleAfter-time.Second)+idleAfter {
			t.Errorf("it took %v", took)
		}
	})
}

// upgrade is the head of a handshake.
func upgrade(g *rig, protocol string) string {
	return "GET /attach?token=" + g.all() + " HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: " + protocol +
		"\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
}

// switching answers an upgrade with bytes of the test, and waits for the end.
func switching(protocol, after string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+protocol+"\r\n\r\n"+after)
		_, _ = io.Copy(io.Discard, c)
	}
}

func TestAFrameUnderWayIsNotSpoiled(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]string{
		"\x82\x03ab":        "\x82\x03ab",                          // a byte is missing
		"\x82\x02ab":        "\x82\x02ab\x88\x06\x03\xe9" + "idle", // nothing is
		"\x88\x02\x03\xe8":  "\x88\x02\x03\xe8",                    // it is closed already
		"\x82\x7e\x01":      "\x82\x7e\x01",                        // a part of the length is missing
		"":                  "\x88\x06\x03\xe9" + "idle",
		"\x82\x00\x89\x01x": "\x82\x00\x89\x01x\x88\x06\x03\xe9" + "idle",
	} {
		inMemory(t, switching("websocket", after), func(t *testing.T, g *rig, p pipes) {
			_, r, _ := request(t, p, upgrade(g, "websocket"))
			if got, err := io.ReadAll(r); string(got) != want || err != nil {
				t.Errorf("after %q: got %q, %v", after, got, err)
			}
		})
	}
}

func TestAnotherProtocolGetsNoFrame(t *testing.T) {
	t.Parallel()
	const after = "\x82\x00" // an empty frame, if it were a WebSocket
	inMemory(t, switching("chat", after), func(t *testing.T, g *rig, p pipes) {
		_, r, _ := request(t, p, upgrade(g, "chat"))
		if got, err := io.ReadAll(r); string(got) != after || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// A client that reads nothing more blocks the last frame.
func TestAClientThatStopsReadingIsClosed(t *testing.T) {
	inMemory(t, switching("websocket", ""), func(t *testing.T, g *rig, p pipes) {
		_, r, _ := request(t, p, upgrade(g, "websocket"))
		testkit.Advance(2 * idleAfter)
		if got, err := io.ReadAll(r); len(got) > 0 || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// A client that reads nothing at all blocks the write of the handler.
func TestAClientThatReadsNothingIsClosed(t *testing.T) {
	inMemory(t, switching("websocket", strings.Repeat("\x82\x02ab", 1000)), func(t *testing.T, g *rig, p pipes) {
		c, _ := p.dial(t.Context(), "", "")
		_, _ = io.WriteString(c, upgrade(g, "websocket")+"\r\n\r\n")
		testkit.Advance(2 * idleAfter)
		if got, err := io.ReadAll(c); len(got) > 0 || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
