package zoo

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"assay/fakes/gateway"
	"assay/fakes/gatewaytest"
	"assay/internal/wire"
)

// wsClient is a client of the stdio surface that sends any frame, valid or not, and answers only a Close frame by itself.
type wsClient struct {
	*gatewaytest.Conn
	t    *testing.T
	res  *http.Response
	said strings.Builder // what was received, as words
	kind string          // of the last message, to join output
}

// attach sends a handshake. Query is pairs of names and values.
func attach(t *testing.T, g *gateway.Gateway, query []string, headers ...string) *wsClient {
	t.Helper()
	pairs := make([]string, 0, len(query)/2)
	for i := 0; i < len(query); i += 2 {
		pairs = append(pairs, url.QueryEscape(query[i])+"="+url.QueryEscape(query[i+1]))
	}
	head := map[string]string{
		"Upgrade": "websocket", "Connection": "Upgrade", "Sec-Websocket-Version": "13", "Sec-Websocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
	}
	method := "GET"
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if head[http.CanonicalHeaderKey(name)] = value; name == "Method" {
			method = value
		}
	}
	delete(head, "Method")
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s /attach?%s HTTP/1.1\r\nHost: 127.0.0.1\r\n", method, strings.Join(pairs, "&"))
	for name, value := range head {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	b.WriteString("\r\n")
	c := &wsClient{Conn: gatewaytest.Dial(t, g), t: t}
	c.R = bufio.NewReaderSize(c.Conn.Conn, 1<<20)
	c.send(b.String())
	var err error
	if c.res, err = http.ReadResponse(c.R, &http.Request{Method: method}); err != nil {
		t.Fatal(err)
	}
	return c
}

// script is the query for a shell script.
func script(s string, more ...string) []string {
	return append([]string{"cmd", "/bin/sh", "arg", "-c", "arg", s}, more...)
}

// send writes bytes.
func (c *wsClient) send(p string) {
	c.t.Helper()
	if _, err := c.Write([]byte(p)); err != nil {
		c.t.Fatal(err)
	}
}

// masked returns a frame of a client as its head says.
func masked(h wire.WSHead, payload string) string {
	h.Masked, h.Key = true, [4]byte{1, 2, 3, 4}
	return string(wire.AppendWSFrame(nil, h, []byte(payload)))
}

func input(data string) string { return masked(wire.WSHead{FIN: true, Opcode: wire.WSBinary}, data) }
func ping(data string) string  { return masked(wire.WSHead{FIN: true, Opcode: wire.WSPing}, data) }
func part(op wire.WSOpcode, data string) string {
	return masked(wire.WSHead{Opcode: op}, data)
}

func closing(code uint16) string {
	return masked(wire.WSHead{FIN: true, Opcode: wire.WSClose}, string(wire.AppendWSClose(nil, code, "")))
}

// frame reads a frame; false at the end.
func (c *wsClient) frame() (f wsFrame, ok bool) {
	size := 2
	for {
		head, err := c.R.Peek(size)
		h, n := wire.ParseWSHead(head)
		if n > 0 {
			f.WSHead = h
			_, _ = c.R.Discard(n)
			break
		}
		if err != nil {
			return f, false
		}
		if size++; size > wire.MaxWSHead {
			c.t.Fatal("no head of a frame")
		}
	}
	f.payload = make([]byte, f.Length)
	if n, err := io.ReadFull(c.R, f.payload); err != nil {
		c.say(fmt.Sprintf("cut after %d of %d", n, f.Length), "")
		return f, false
	}
	if f.Masked {
		wire.MaskWS(f.payload, f.Key, 0)
	}
	return f, true
}

// say adds to what was received. A word that joins continues the last one.
func (c *wsClient) say(kind, data string) {
	switch {
	case c.kind == kind && strings.HasPrefix(kind, "out"), c.kind == kind && strings.HasPrefix(kind, "err"):
	case c.said.Len() > 0:
		c.said.WriteString(" | ")
		fallthrough
	default:
		c.said.WriteString(kind)
	}
	c.kind = kind
	c.said.WriteString(data)
}

// next takes one frame down; false at the end.
func (c *wsClient) next() bool {
	f, ok := c.frame()
	if !ok {
		return false
	}
	var oddities strings.Builder
	for _, o := range []struct {
		is   bool
		word string
	}{{f.Masked, "masked "}, {f.RSV != 0, "rsv "}, {!f.FIN, "more "}, {!f.Minimal(), "long "}} {
		if o.is {
			oddities.WriteString(o.word)
		}
	}
	odd := oddities.String()
	switch {
	case f.Opcode == wire.WSBinary && f.FIN && len(f.payload) > 0 && f.payload[0] < 3:
		c.say(odd+[]string{"zero:", "out:", "err:"}[f.payload[0]], string(f.payload[1:]))
	case f.Opcode == wire.WSClose:
		code, reason, _ := wire.ParseWSClose(f.payload)
		c.say(odd+fmt.Sprintf("close %d", code), string(reason))
		_, _ = c.Write([]byte(closing(1000))) // the gateway may be gone
	default:
		c.say(odd+f.Opcode.String()+":", string(f.payload))
	}
	return true
}

// until reads until some text was received.
func (c *wsClient) until(text string) {
	c.t.Helper()
	for !strings.Contains(c.said.String(), text) {
		if !c.next() {
			c.t.Fatalf("the end after %.2000q, want %q", c.said.String(), text)
		}
	}
}

// rest reads to the end, and returns all that was received.
func (c *wsClient) rest() string {
	c.t.Helper()
	for c.next() {
		continue
	}
	return c.said.String()
}
