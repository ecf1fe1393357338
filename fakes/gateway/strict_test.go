package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"assay/fakes/gatewaytest"
)

func join(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func TestAnEnvelopeMayComeByteByByteOrInChunks(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	body := gatewaytest.Envelope(0, gatewaytest.Shell("echo split"))
	c := gatewaytest.Dial(t, g)
	c.Request("POST", gatewaytest.StartPath, nil, gatewaytest.Streaming, fmt.Sprintf("Content-Length: %d", len(body)))
	for i := range body {
		if _, err := c.Write(body[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if a := c.Answer("POST"); a.Code != "" || len(a.Events(t)) != 3 {
		t.Errorf("C130: byte by byte: %q", a.Body)
	}
	c.Request("POST", gatewaytest.StartPath, nil, gatewaytest.Streaming, "Transfer-Encoding: chunked")
	for i := range body {
		fmt.Fprintf(c, "1;ext=v\r\n%s\r\n", body[i:i+1])
	}
	fmt.Fprint(c, "0\r\n\r\n")
	if a := c.Answer("POST"); a.Code != "" || len(a.Events(t)) != 3 {
		t.Errorf("C130: in chunks: %q", a.Body)
	}
}

func TestARefusalDoesNotWaitForABodyThatDoesNotCome(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	cases := []struct {
		name, path, contentType string
		body                    []byte
		status                  int
		code                    string
	}{
		{"a length over the limit", gatewaytest.StartPath, gatewaytest.Streaming, []byte{0, 0xff, 0xff, 0xff, 0xff, '{'}, 200, "resource_exhausted"},
		{"a reserved bit", gatewaytest.StartPath, gatewaytest.Streaming, []byte{4, 0, 0, 0, 9}, 200, "invalid_argument"},
		{"a foreign content type", gatewaytest.StartPath, "Content-Type: text/plain", nil, 415, ""},
		{"an unknown path", "/process.Process/None", gatewaytest.Streaming, nil, 404, ""},
	}
	var conns []*gatewaytest.Conn
	for _, c := range cases { // in parallel: each response ends when the gateway stops waiting for the body
		conn := gatewaytest.Dial(t, g)
		conn.Request("POST", c.path, c.body, c.contentType, "Content-Length: 5000")
		conns = append(conns, conn)
	}
	for i, c := range cases {
		if a := conns[i].Answer("POST"); a.Status != c.status || a.Code != c.code {
			t.Errorf("%s: %d %q, want %d %q", c.name, a.Status, a.Code, c.status, c.code)
		}
	}
}

func TestABodyThatDoesNotComeEndsWithTheTimeout(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	begin := time.Now()
	c := gatewaytest.Dial(t, g)
	c.Request("POST", gatewaytest.StartPath, []byte{0, 0}, gatewaytest.Streaming, "Content-Length: 100", "Connect-Timeout-Ms: 50")
	if a := c.Answer("POST"); a.Code != "deadline_exceeded" {
		t.Errorf("C48: %q after %v, want deadline_exceeded", a.Code, time.Since(begin))
	}
}

func TestAnErrorOfStreamInputIsAnsweredWhileTheClientStillSends(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	cases := []struct {
		name string
		body []byte
		code string
	}{
		{"data before start", gatewaytest.Envelope(0, `{"data":{"input":{"stdin":"eA=="}}}`), "invalid_argument"},
		{"unknown process", gatewaytest.Envelope(0, `{"start":{"process":{"pid":4000000}}}`), "not_found"},
		{"C126: end-of-stream bit", gatewaytest.Envelope(2, `{}`), "invalid_argument"},
		{"C127: reserved bit", gatewaytest.Envelope(8, `{}`), "invalid_argument"},
		{"C38: compressed without declaration", gatewaytest.Envelope(1, `{}`), "internal"},
		{"C97: empty JSON message", gatewaytest.Envelope(0, ""), "invalid_argument"},
		{"bytes that are not base64", gatewaytest.Envelope(0, `{"data":{"input":{"stdin":"*"}}}`), "invalid_argument"},
	}
	var conns []*gatewaytest.Conn
	for _, c := range cases {
		conn := gatewaytest.Dial(t, g)
		conn.Request("POST", "/process.Process/StreamInput", nil, gatewaytest.Streaming, "Transfer-Encoding: chunked")
		fmt.Fprintf(conn, "%x\r\n%s\r\n", len(c.body), c.body)
		conns = append(conns, conn)
	}
	for i, c := range cases {
		if a := conns[i].Answer("POST"); a.Status != 200 || a.Code != c.code {
			t.Errorf("%s: %d %q (%s), want %q", c.name, a.Status, a.Code, a.Text, c.code)
		}
	}
}

func TestStreamInputReportsWhatIsCut(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	whole := gatewaytest.Envelope(0, `{"keepalive":{}}`)
	for name, body := range map[string][]byte{"header": append(whole, 0, 0), "payload": whole[:len(whole)-1]} {
		if a := gatewaytest.RoundTrip(t, g, "POST", "/process.Process/StreamInput", body, gatewaytest.Streaming); a.Code != "invalid_argument" {
			t.Errorf("C128: truncated %s: %q", name, a.Code)
		}
	}
	if a := gatewaytest.RoundTrip(t, g, "POST", "/process.Process/StreamInput", append(whole, whole...), gatewaytest.Streaming); a.Code != "" || len(a.Frames) != 2 {
		t.Errorf("two keepalives: %q, %q", a.Code, a.Body)
	}
}

func TestLongHeadersAreRefused(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	for size, want := range map[int]int{maxHeader / 2: http.StatusNoContent, 2 * maxHeader: http.StatusRequestHeaderFieldsTooLarge} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL()+"/health", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Long", strings.Repeat("x", size))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d bytes: status %d, want %d", size, resp.StatusCode, want)
		}
	}
}
