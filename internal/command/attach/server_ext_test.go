package attach_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"assay/internal/command/attach"
	"assay/internal/target"
)

// socketServer runs a script for each WebSocket.
func socketServer(t *testing.T, script func(ctx context.Context, c *websocket.Conn)) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		script(r.Context(), c)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const exitZero = `{"type":"exit","code":0}`

func output(text string) []byte { return []byte("\x01" + text) }

func TestWhatASocketSends(t *testing.T) {
	t.Parallel()
	type conn = *websocket.Conn
	text := func(ctx context.Context, c conn, s string) { _ = c.Write(ctx, websocket.MessageText, []byte(s)) }
	binary := func(ctx context.Context, c conn, s string) { _ = c.Write(ctx, websocket.MessageBinary, []byte(s)) }
	for name, tc := range map[string]struct {
		script func(ctx context.Context, c conn)
		code   int
		out    string
		lost   string
	}{
		"output and a code": {func(ctx context.Context, c conn) {
			binary(ctx, c, "\x01one ")
			binary(ctx, c, "\x01two")
			text(ctx, c, `{"type":"exit","code":5}`)
			_ = c.Close(1000, "")
		}, 5, "one two", ""},
		"the exit without a close": {func(ctx context.Context, c conn) {
			text(ctx, c, exitZero)
			_, _, _ = c.Read(ctx)
		}, 0, "", ""},
		"a code below 0":   {func(ctx context.Context, c conn) { text(ctx, c, `{"type":"exit","code":-1}`) }, 255, "", ""},
		"a code above 255": {func(ctx context.Context, c conn) { text(ctx, c, `{"type":"exit","code":256}`) }, 255, "", ""},
		"an exit without a code": {func(ctx context.Context, c conn) { text(ctx, c, `{"type":"exit","code":null}`) }, 0, "",
			"an exit message without an exit code: code is null"},
		"texts that nobody knows": {func(ctx context.Context, c conn) {
			for _, s := range []string{"", "no JSON", "[]", `{"type":"welcome"}`, `{"type":1}`, `{"type":"opened","pane":"x","stdout":3,"stderr":4}`, "\xff"[:0]} {
				text(ctx, c, s)
			}
			text(ctx, c, exitZero)
		}, 0, "", ""},
		"output of other streams, of panes, and none": {func(ctx context.Context, c conn) {
			for _, s := range []string{"\x03pane", "", "\x00zero", "\x01", "\x01mine"} {
				binary(ctx, c, s)
			}
			text(ctx, c, exitZero)
		}, 0, "mine", ""},
		"output that reads like a control message": {func(ctx context.Context, c conn) {
			binary(ctx, c, "\x01"+exitZero)
			text(ctx, c, `{"type":"exit","code":1}`)
		}, 1, exitZero, ""},
		"a message of 8 MiB": {func(ctx context.Context, c conn) {
			binary(ctx, c, "\x01"+strings.Repeat("x", 8<<20))
			text(ctx, c, exitZero)
		}, 0, strings.Repeat("x", 8<<20), ""},
		"a text of 2 MiB": {func(ctx context.Context, c conn) { text(ctx, c, strings.Repeat("x", 2<<20)) }, 0, "",
			"a text message of more than 1048576 bytes"},
		"no exit before the close": {func(ctx context.Context, c conn) {
			binary(ctx, c, "\x01half a li")
			_ = c.Close(1000, "")
		}, 0, "half a li", "the gateway closed the connection without an exit code (1000)"},
		"a close with a reason": {func(_ context.Context, c conn) { _ = c.Close(1013, "too slow\x1b[31m") }, 0, "", "(1013: too slow\x1b[31m)"},
		"the end without a close": {func(ctx context.Context, c conn) {
			binary(ctx, c, "\x01half a li")
			_ = c.CloseNow()
		}, 0, "half a li", "without a word"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, script(socketServer(t, tc.script), attach.OverSocket, ""))
			if tc.lost == "" {
				r.ends(tc.code)
			} else {
				r.loses(tc.lost)
			}
			if got := r.out.String(); got != tc.out {
				t.Errorf("%d bytes of output, want %d: %.80q", len(got), len(tc.out), got)
			}
		})
	}
}

// A gateway that reads no input holds neither the end of the session nor the answer to its pings.
func TestInputThatNobodyReadsHoldsNothingElse(t *testing.T) {
	t.Parallel()
	attached, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	url := socketServer(t, func(ctx context.Context, c *websocket.Conn) {
		<-attached
		_ = c.Write(ctx, websocket.MessageBinary, output("ready"))
		_ = c.Write(ctx, websocket.MessageText, []byte(`{"type":"exit","code":6}`))
		<-over
	})
	o := script(url, attach.OverSocket, "")
	o.Local.In = endless{}
	r := run(t, o)
	<-r.attached
	close(attached)
	r.ends(6)
	if r.out.String() != "ready" {
		t.Errorf("stdout %q", r.out)
	}
}

// endless is an input without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestServersThatAreNone(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>\x1b[31mwelcome</html>")
	}))
	t.Cleanup(page.Close)
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "too many sessions", http.StatusServiceUnavailable)
	}))
	t.Cleanup(busy.Close)
	strange := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Sec-WebSocket-Accept", "wrong")
		w.WriteHeader(http.StatusSwitchingProtocols)
	}))
	t.Cleanup(strange.Close)
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	for name, tc := range map[string]struct{ url, over, want string }{
		"a web page":             {page.URL, attach.OverAny, "no WebSocket (GET /attach returns 200); no process.Process (POST /process.Process/Start: "},
		"a web page as socket":   {page.URL + "/x", attach.OverSocket, "no WebSocket (GET /x returns 200)"},
		"a gateway that is full": {busy.URL, attach.OverAny, "GET /attach returns 503: too many sessions.\nTry again later."},
		"a wrong handshake":      {strange.URL, attach.OverAny, "its handshake is no WebSocket's: WebSocket protocol violation: invalid Sec-WebSocket-Accept"},
		"nothing but bytes":      {bytesServer(t, "SSH-2.0-OpenSSH_9.6\r\n"), attach.OverAny, "its response is not HTTP"},
		"a closed connection":    {bytesServer(t, ""), attach.OverAny, "EOF"},
		"TLS without https":      {"http" + strings.TrimPrefix(tls.URL, "https"), attach.OverAny, "the port speaks TLS"},
		"an unknown authority":   {tls.URL, attach.OverAny, "signed by an untrusted authority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, script(tc.url, tc.over, ""))
			r.wait()
			var u *target.UnreachableError
			if !errors.As(r.failure, &u) || !strings.Contains(u.Error(), tc.want) {
				t.Errorf("%v, want %q", r.failure, tc.want)
			}
			if strings.Count(r.failure.Error(), "\n") > 1 {
				t.Errorf("more than two lines: %q", r.failure)
			}
		})
	}
}

// The token is a bearer for the socket, whatever user is named, and has a header of its own everywhere.
func TestTheCredentialsAreWhereEachSurfaceExpectsThem(t *testing.T) {
	t.Parallel()
	for over, want := range map[string]string{attach.OverSocket: "Bearer open-sesame-123456", attach.OverProcess: "Basic cm9vdDo="} {
		seen := make(chan *http.Request, 1)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen <- r
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		o := script(s.URL, over, "")
		o.Target.Token, o.Target.User, o.Sandbox = "open-sesame-123456", "root", "box-7"
		r := run(t, o)
		r.wait()
		got := <-seen
		s.Close()
		for name, want := range map[string]string{
			"Authorization": want, "X-Access-Token": "open-sesame-123456", "User-Agent": "assay/test (attach; attach)", "E2b-Sandbox-Id": "box-7",
		} {
			if got.Header.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", over, name, got.Header.Get(name), want)
			}
		}
		if strings.Contains(got.URL.RawQuery, "sesame") {
			t.Errorf("%s: the token is in the query %q", over, got.URL.RawQuery)
		}
	}
}

// A server that takes the request and never responds is given up.
func TestAServerThatDoesNotRespondIsGivenUp(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	for _, over := range surfaces {
		o := script("http://"+l.Addr().String(), over, "")
		o.Target.TimeScale = 0.1
		r := run(t, o)
		r.wait()
		var u *target.UnreachableError
		if !errors.As(r.failure, &u) || !strings.Contains(u.Error(), "within 1.5s") {
			t.Errorf("%s: %v", over, r.failure)
		}
	}
}

// bytesServer answers each connection with bytes.
func bytesServer(t *testing.T, answer string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, answer)
			_ = c.Close()
		}
	}()
	return "http://" + l.Addr().String()
}
