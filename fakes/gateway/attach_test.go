package gateway

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"assay/fakes/gatewaytest"
)

// attachURL returns the address of an attach; query is pairs of names and values.
func attachURL(g *Gateway, query ...string) string {
	v := url.Values{}
	for i := 0; i < len(query); i += 2 {
		v.Add(query[i], query[i+1])
	}
	return "ws" + strings.TrimPrefix(g.URL(), "http") + "/attach?" + v.Encode()
}

// sh is the query for a script.
func sh(script string, more ...string) []string {
	return append([]string{"cmd", "/bin/sh", "arg", "-c", "arg", script}, more...)
}

// wsClient is a client of the stdio surface.
type wsClient struct {
	*websocket.Conn
	t *testing.T
	// What was received so far, by byte 0 of the message.
	out   map[byte][]byte
	texts []string
	code  websocket.StatusCode // of the Close frame; -1 without one
}

// dialAttach attaches to a gateway.
func dialAttach(t *testing.T, g *Gateway, query ...string) *wsClient {
	t.Helper()
	c, _, err := websocket.Dial(gatewaytest.Deadline(t), attachURL(g, query...), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(-1)
	t.Cleanup(func() { _ = c.CloseNow() })
	return &wsClient{Conn: c, t: t, out: map[byte][]byte{}, code: -1}
}

// next reads one message; false at the end.
func (c *wsClient) next() bool {
	c.t.Helper()
	kind, data, err := c.Read(gatewaytest.Deadline(c.t))
	if err != nil {
		c.code = websocket.CloseStatus(err)
		return false
	}
	switch {
	case kind == websocket.MessageText:
		c.texts = append(c.texts, string(data))
	case len(data) == 0:
		c.t.Error("an empty binary message")
	default:
		c.out[data[0]] = append(c.out[data[0]], data[1:]...)
	}
	return true
}

// rest reads to the end.
func (c *wsClient) rest() *wsClient {
	c.t.Helper()
	for c.next() {
		continue
	}
	return c
}

// until reads until stdout ends with text.
func (c *wsClient) until(text string) {
	c.t.Helper()
	c.untilOn(1, text)
}

// untilOn reads until a stream contains text.
func (c *wsClient) untilOn(stream byte, text string) {
	c.t.Helper()
	for !strings.Contains(string(c.out[stream]), text) {
		if !c.next() {
			c.t.Fatalf("closed with %d after %q and %q, want %q", c.code, c.out, c.texts, text)
		}
	}
}

// untilText reads until a text arrives, and returns it.
func (c *wsClient) untilText() string {
	c.t.Helper()
	for n := len(c.texts); len(c.texts) == n; {
		if !c.next() {
			c.t.Fatalf("closed with %d after %q, want a text", c.code, c.out)
		}
	}
	return c.texts[len(c.texts)-1]
}

// stdin sends stdin.
func (c *wsClient) stdin(data string) {
	c.t.Helper()
	if err := c.Write(gatewaytest.Deadline(c.t), websocket.MessageBinary, []byte(data)); err != nil {
		c.t.Fatal(err)
	}
}

// text sends a text.
func (c *wsClient) text(text string) {
	c.t.Helper()
	if err := c.Write(gatewaytest.Deadline(c.t), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// wantEnd checks the end: the only text is the exit message, the last message, and the code is 1000.
func (c *wsClient) wantEnd(code string) {
	c.t.Helper()
	want := `{"type":"exit","code":` + code + `}`
	if len(c.texts) != 1 || c.texts[0] != want || c.code != websocket.StatusNormalClosure {
		c.t.Errorf("texts %q and Close %d, want %s and 1000", c.texts, c.code, want)
	}
}

func TestARefusedMessageGetsAnErrorAndTheSessionLives(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := dialAttach(t, g, "cmd", "cat")
	term := dialAttach(t, g, "cmd", "cat", "pty", "1")
	for _, m := range []struct{ sent, want string }{
		{`{"type":"signal","signal":"SIGFOO"}`, `signal: unknown signal "SIGFOO"`},
		{`{"type":"signal","signal":"int"}`, `signal: unknown signal "int"`},
		{`{"type":"signal","signal":9}`, `signal: signal must be a string`},
		{`{"type":"signal"}`, `signal: signal must be a string`},
		{`{"type":"resize","cols":0,"rows":0}`, `resize: cols must be an integer from 1 to 65535`},
		{`{"type":"resize","cols":80,"rows":-1}`, `resize: rows must be an integer from 1 to 65535`},
		{`{"type":"resize","cols":65536,"rows":24}`, `resize: cols must be an integer from 1 to 65535`},
		{`{"type":"resize","cols":80}`, `resize: rows must be an integer from 1 to 65535`},
		{`{"type":"resize","cols":"80","rows":24}`, `resize: cols must be an integer from 1 to 65535`},
		{`{"type":"resize","cols":80.5,"rows":24}`, `resize: cols must be an integer from 1 to 65535`},
		{`{"type":"reboot"}`, `unknown type "reboot"`},
		{`{"type":"Resize","cols":80,"rows":24}`, `unknown type "Resize"`},
		{`{"TYPE":"resize"}`, `not a control message: want a JSON object with a type`},
		{`{"type":1}`, `not a control message: want a JSON object with a type`},
		{`{`, `not a control message: want a JSON object with a type`},
		{``, `not a control message: want a JSON object with a type`},
		{`null`, `not a control message: want a JSON object with a type`},
		{`[]`, `not a control message: want a JSON object with a type`},
		{`{"type":"stdin","pane":"left","data":"x"}`, `stdin: no pane "left"`},
		{`{"type":"stdin","pane":1,"data":"x"}`, `stdin: pane must be a string`},
		{`{"type":"stdin"}`, `stdin: data must be a string`},
	} {
		for _, c := range []*wsClient{c, term} {
			c.text(m.sent)
			var got struct{ Type, Message string }
			if err := json.Unmarshal([]byte(c.untilText()), &got); err != nil || got.Type != "error" || got.Message != m.want {
				t.Errorf("%s: %+v, %v; want %s", m.sent, got, err, m.want)
			}
		}
	}
	term.text(`{"type":"eof"}`)
	if got := term.untilText(); !strings.Contains(got, "Ctrl+D") {
		t.Errorf("eof of a terminal: %s", got)
	}
	c.text(`{"type":"resize","cols":80,"rows":24}`) // a pipe has no size
	c.text(`{"type":"eof","unknown":[]}`)
	c.text(`{"type":"eof"}`)
	c.texts = nil
	c.rest().wantEnd("0")
	term.stdin("\x04")
	term.texts = nil
	term.rest().wantEnd("0")
}

func TestRealProcessesAreAttachedToo(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Processes: ProcessesOS, Token: "secret"})
	c := dialAttach(t, g, sh("read x; echo got $x; echo oops >&2; cat | wc -c; exit 3", "token", "secret")...)
	c.stdin("word\n")
	c.until("got word\n")
	c.stdin(strings.Repeat("x", 1<<20))
	c.text(`{"type":"eof"}`)
	c.rest().wantEnd("3")
	if fields := strings.Fields(string(c.out[1])); len(fields) != 3 || fields[2] != "1048576" || string(c.out[2]) != "oops\n" {
		t.Errorf("%q", c.out)
	}
	term := dialAttach(t, g, sh("stty size; read x; stty size; exec sleep 1000", "token", "secret", "pty", "1", "cols", "100", "rows", "30")...)
	term.until("30 100\r\n")
	term.text(`{"type":"resize","cols":65535,"rows":1}`)
	term.stdin("\r")
	term.until("1 65535\r\n")
	p := g.table.List()[0]
	_ = term.CloseNow()
	<-p.run.Exited()
	if got := p.Status().Signal; got != syscall.SIGTERM {
		t.Error(got)
	}
	gone := dialAttach(t, g, "cmd", "no-such-program", "token", "secret").rest()
	gone.wantEnd("127")
}

func TestAnAttachOverTLS(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{TLS: true})
	if !strings.HasPrefix(g.AttachURL(), "wss://") {
		t.Error(g.AttachURL())
	}
	client := gatewaytest.HTTPClient(t, g, "1.1")
	conn, _, err := websocket.Dial(gatewaytest.Deadline(t), g.AttachURL()+"?cmd=cat", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	c := &wsClient{Conn: conn, t: t, out: map[byte][]byte{}, code: -1}
	c.stdin("secretly")
	c.until("secretly")
	c.text(`{"type":"eof"}`)
	c.rest().wantEnd("0")
}

func TestWithoutAnUpgradeTheAnswerIsText(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.1", "h2c"} {
		g := startGateway(t, Options{})
		req, _ := http.NewRequestWithContext(gatewaytest.Deadline(t), "GET", g.URL()+"/attach?cmd=true", nil)
		res, err := gatewaytest.HTTPClient(t, g, version).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %s", version, res.StatusCode, res.Header)
		}
		wantBooks(t, g, 0, 0, 0, 0, 0)
	}
}
