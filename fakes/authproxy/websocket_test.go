package authproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"assay/fakes/issuer"
	"assay/internal/testkit"
)

// dial opens a WebSocket with a token in its header.
func dial(t *testing.T, url, token string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	return websocket.Dial(t.Context(), url+"/attach?sandbox=one", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
}

func TestAWebSocketPasses(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{BytesPerSecond: 1 << 30, Idle: time.Hour}, nil)
	s := httptest.NewServer(g.proxy.Over(http.HandlerFunc(echo)))
	defer s.Close()
	c, _, err := dial(t, s.URL, g.all())
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	c.SetReadLimit(8 << 20)
	long := bytes.Repeat([]byte("all the bytes\x00\xff"), 1<<16)
	for kind, sent := range map[websocket.MessageType][]byte{websocket.MessageBinary: long, websocket.MessageText: []byte(`{"type":"resize"}`)} {
		wrote := make(chan error, 1)
		go func() { wrote <- c.Write(t.Context(), kind, sent) }()
		got, p, err := c.Read(t.Context())
		if got != kind || !bytes.Equal(p, sent) || err != nil || <-wrote != nil {
			t.Errorf("%v: got %v, %d bytes, %v", kind, got, len(p), err)
		}
	}
	if err := c.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Errorf("the close is not answered: %v", err)
	}
}

func TestARefusedUpgradeIsAnOrdinaryAnswer(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{}, nil)
	s := httptest.NewServer(g.proxy.Over(http.HandlerFunc(echo)))
	defer s.Close()
	for token, want := range map[string]int{"": 401, "garbage": 401, g.token(issuer.Spec{Scopes: []string{}}): 403} {
		c, resp, err := dial(t, s.URL, token)
		if err == nil {
			_ = c.CloseNow()
			t.Fatal("it is open")
		}
		if resp == nil || resp.StatusCode != want {
			t.Errorf("got %v, want %d", resp, want)
		}
	}
}

// A WebSocket lasts longer than the handler's own answer: it counts until it is closed, however that happens.
func TestAWebSocketIsASandboxUntilItIsClosed(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{Sandboxes: 1}, nil)
	s := httptest.NewServer(g.proxy.Over(http.HandlerFunc(echo)))
	defer s.Close()
	c, _, err := dial(t, s.URL, g.all())
	if err != nil {
		t.Fatal(err)
	}
	want(t, g.ask(attach(g.all(), "&sandbox=two")), 429, "Too many sandboxes")
	_ = c.CloseNow()
	testkit.Eventually(t, func() error {
		if got := g.ask(attach(g.all(), "&sandbox=two")).Code; got != 200 {
			return fmt.Errorf("it still counts: %d", got)
		}
		return nil
	})
}

// The client sends its first frame together with the handshake.
func TestWhatComesWithTheHandshakeIsNotLost(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{}, nil)
	s := httptest.NewServer(g.proxy.Over(http.HandlerFunc(echo)))
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// The text "early", masked with zeros, then Close.
	if _, err := io.WriteString(c, upgrade(g, "websocket")+"\r\n\r\n\x81\x85\x00\x00\x00\x00early\x88\x80\x00\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if _, frames, ok := strings.Cut(string(got), "\r\n\r\n"); !ok || frames != "\x81\x05early\x88\x00" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// Over HTTP/2 one request of many is refused, and the connection goes on.
func TestOverHTTP2(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{}, nil)
	addresses := make(chan string, 3)
	s := httptest.NewUnstartedServer(g.proxy.Over(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addresses <- r.Proto + " " + r.RemoteAddr
		if _, ok := w.(http.Hijacker); ok {
			t.Error("the stream of HTTP/2 claims that it can be taken over")
		}
	})))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	for _, token := range []string{g.all(), "garbage", g.all()} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/commands?token="+token, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if want := map[bool]int{true: 401, false: 200}[token == "garbage"]; resp.StatusCode != want {
			t.Errorf("got %d, want %d", resp.StatusCode, want)
		}
	}
	if first, second := <-addresses, <-addresses; first != second || !strings.HasPrefix(first, "HTTP/2.0 ") {
		t.Errorf("got %s, then %s", first, second)
	}
}

// A client may wait for the answer before it sends its body.
func TestARefusalDoesNotWaitForTheBody(t *testing.T) {
	t.Parallel()
	g := newRig(t, Limits{}, nil)
	s := httptest.NewServer(g.proxy.Over(http.NotFoundHandler()))
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST /commands HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if !strings.HasSuffix(string(got), "\r\n\r\nUnauthorized") || err != nil && !errors.Is(err, io.EOF) {
		t.Errorf("got %q, %v", got, err)
	}
}
