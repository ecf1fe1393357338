package fakes

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"assay/internal/wire"
)

// patience bounds every wait of a test on a slow machine.
const patience = 30 * time.Second

// late is a deadline that passes, in milliseconds, when all that has to be done before it has been done long ago:
// a machine that stands still for a while does it in time too. Who waits for it does so beside others.
const late = "2500"

// answer is one HTTP answer, read whole.
type answer struct {
	status int
	header http.Header
	body   []byte
	frames []frame
	code   string // of the error, "" for success
	text   string // of the error
}

type frame struct {
	flags   byte
	payload []byte
}

// rawConn is a connection to a gateway that sends exactly what it is given.
type rawConn struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, g *Gateway) *rawConn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(g.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &rawConn{t: t, Conn: c, r: bufio.NewReader(c)}
}

// request writes a request; headers are lines without CRLF. A length is added
// unless there is one, or a transfer encoding.
func (c *rawConn) request(method, path string, body []byte, headers ...string) {
	c.t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: test\r\n", method, path)
	framed := false
	for _, h := range headers {
		name := strings.ToLower(h)
		framed = framed || strings.HasPrefix(name, "content-length:") || strings.HasPrefix(name, "transfer-encoding:")
		b.WriteString(h + "\r\n")
	}
	if !framed {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	b.Write(body)
	if _, err := c.Write(b.Bytes()); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads one answer to its end.
func (c *rawConn) answer(method string) answer {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("read answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("read body after %q: %v", body, err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, body: body}
	if len(resp.Trailer) > 0 {
		c.t.Errorf("HTTP trailers %v (C9)", resp.Trailer)
	}
	a.decode(c.t)
	return a
}

// decode splits envelopes and finds the error.
func (a *answer) decode(t *testing.T) {
	t.Helper()
	doc := a.body
	if strings.HasPrefix(a.header.Get("Content-Type"), "application/connect+") {
		for rest := a.body; len(rest) > 0; {
			size := wire.HeaderSize + int(binary.BigEndian.Uint32(rest[1:]))
			f := frame{rest[0], rest[wire.HeaderSize:size]}
			if f.flags&wire.FlagCompressed != 0 {
				plain, err := gunzip(f.payload)
				if err != nil {
					t.Fatal(err)
				}
				f.payload = plain
			}
			a.frames, rest = append(a.frames, f), rest[size:]
		}
		if len(a.frames) == 0 {
			return
		}
		last := a.frames[len(a.frames)-1]
		if last.flags&wire.FlagEndStream == 0 {
			return
		}
		var end struct{ Error json.RawMessage }
		if err := json.Unmarshal(last.payload, &end); err != nil {
			t.Fatalf("end of stream %q: %v", last.payload, err)
		}
		doc = end.Error
	} else if a.status == http.StatusOK {
		return
	}
	var e struct{ Code, Message string }
	if json.Unmarshal(doc, &e) == nil {
		a.code, a.text = e.Code, e.Message
	}
}

// events are the messages of a stream in JSON.
func (a answer) events(t *testing.T) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, f := range a.frames {
		if f.flags&wire.FlagEndStream != 0 {
			continue
		}
		var v struct{ Event map[string]any }
		if err := json.Unmarshal(f.payload, &v); err != nil {
			t.Fatalf("%q: %v", f.payload, err)
		}
		out = append(out, v.Event)
	}
	return out
}

const (
	startPath = "/process.Process/Start"
	listPath  = "/process.Process/List"
	streaming = "Content-Type: application/connect+json"
	unaryJSON = "Content-Type: application/json"
)

// envelope is one envelope.
func envelope(flags byte, payload string) []byte {
	return wire.AppendEnvelope(nil, flags, []byte(payload))
}

// shell is a Start message that runs a script.
func shell(script string) string {
	b, _ := json.Marshal(map[string]any{"process": map[string]any{"cmd": "/bin/sh", "args": []string{"-c", script}}, "stdin": false})
	return string(b)
}

// roundTrip makes one request on a connection of its own.
func roundTrip(t *testing.T, g *Gateway, method, path string, body []byte, headers ...string) answer {
	t.Helper()
	c := dial(t, g)
	c.request(method, path, body, headers...)
	return c.answer(method)
}
