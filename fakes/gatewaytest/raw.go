package gatewaytest

import (
	"bufio"
	"bytes"
	"compress/gzip"
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

// Gateway is a gateway under test.
type Gateway interface {
	URL() string
	// CACert is the certificate to trust, in PEM; nil without TLS.
	CACert() []byte
}

// Patience bounds every wait of a test: far longer than a machine with much other work delays anything.
const Patience = 2 * time.Minute

// Late is a deadline, in milliseconds, that leaves time for everything that must happen before it, even if the
// machine pauses. A test that waits for it runs in parallel with others.
const Late = "2500"

// Answer is one complete HTTP response.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Frames []Frame
	Code   string // of the error, "" for success
	Text   string // of the error
}

// Frame is one envelope of a response, decompressed.
type Frame struct {
	Flags   byte
	Payload []byte
}

// Conn is a connection to a gateway that sends exactly the given bytes.
type Conn struct {
	t *testing.T
	net.Conn
	R *bufio.Reader
}

// Dial connects without TLS.
func Dial(t *testing.T, g Gateway) *Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(Patience)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &Conn{t: t, Conn: c, R: bufio.NewReader(c)}
}

// Request writes a request; headers are lines without CRLF. It adds a Content-Length unless there is one, or a
// transfer encoding.
func (c *Conn) Request(method, path string, body []byte, headers ...string) {
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

// Answer reads one complete response.
func (c *Conn) Answer(method string) Answer {
	c.t.Helper()
	resp, err := http.ReadResponse(c.R, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("read answer: %v", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("read body after %q: %v", body, err)
	}
	a := Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}
	if len(resp.Trailer) > 0 {
		c.t.Errorf("HTTP trailers %v (C9)", resp.Trailer)
	}
	a.decode(c.t)
	return a
}

// decode splits envelopes and finds the error.
func (a *Answer) decode(t *testing.T) {
	t.Helper()
	doc := a.Body
	if strings.HasPrefix(a.Header.Get("Content-Type"), "application/connect+") {
		for rest := a.Body; len(rest) > 0; {
			size := wire.HeaderSize + int(binary.BigEndian.Uint32(rest[1:]))
			f := Frame{rest[0], rest[wire.HeaderSize:size]}
			if f.Flags&wire.FlagCompressed != 0 {
				plain, err := gunzip(f.Payload)
				if err != nil {
					t.Fatal(err)
				}
				f.Payload = plain
			}
			a.Frames, rest = append(a.Frames, f), rest[size:]
		}
		if len(a.Frames) == 0 {
			return
		}
		last := a.Frames[len(a.Frames)-1]
		if last.Flags&wire.FlagEndStream == 0 {
			return
		}
		var end struct{ Error json.RawMessage }
		if err := json.Unmarshal(last.Payload, &end); err != nil {
			t.Fatalf("end of stream %q: %v", last.Payload, err)
		}
		doc = end.Error
	} else if a.Status == http.StatusOK {
		return
	}
	var e struct{ Code, Message string }
	if json.Unmarshal(doc, &e) == nil {
		a.Code, a.Text = e.Code, e.Message
	}
}

// Events returns the messages of a stream in JSON.
func (a Answer) Events(t *testing.T) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, f := range a.Frames {
		if f.Flags&wire.FlagEndStream != 0 {
			continue
		}
		var v struct{ Event map[string]any }
		if err := json.Unmarshal(f.Payload, &v); err != nil {
			t.Fatalf("%q: %v", f.Payload, err)
		}
		out = append(out, v.Event)
	}
	return out
}

// Paths and header lines of requests.
const (
	StartPath = "/process.Process/Start"
	ListPath  = "/process.Process/List"
	Streaming = "Content-Type: application/connect+json"
	UnaryJSON = "Content-Type: application/json"
)

// Envelope is one envelope.
func Envelope(flags byte, payload string) []byte {
	return wire.AppendEnvelope(nil, flags, []byte(payload))
}

// Shell returns a Start message that runs a script.
func Shell(script string) string {
	b, _ := json.Marshal(map[string]any{"process": map[string]any{"cmd": "/bin/sh", "args": []string{"-c", script}}, "stdin": false})
	return string(b)
}

// RoundTrip makes one request on a new connection.
func RoundTrip(t *testing.T, g Gateway, method, path string, body []byte, headers ...string) Answer {
	t.Helper()
	c := Dial(t, g)
	c.Request(method, path, body, headers...)
	return c.Answer(method)
}

// NDJSON runs a command with the alias and returns its lines.
func NDJSON(t *testing.T, g Gateway, body string) []string {
	t.Helper()
	a := RoundTrip(t, g, "POST", "/commands", []byte(body), "Content-Type: application/json")
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("%s: %d %q %s", body, a.Status, a.Header.Get("Content-Type"), a.Body)
	}
	return strings.Split(strings.TrimSuffix(string(a.Body), "\n"), "\n")
}

// Gzipped returns p, compressed.
func Gzipped(p []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(p)
	_ = w.Close()
	return b.Bytes()
}

func gunzip(p []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(p))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
