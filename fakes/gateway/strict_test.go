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

// TestStreamRequestsAreHeldAgainstTheProtocol covers the rules that a Start
// request can break. want is the code of the end of stream, "" for a stream
// that runs the command.
func TestStreamRequestsAreHeldAgainstTheProtocol(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	good := gatewaytest.Shell("echo ran")
	ok := gatewaytest.Envelope(0, good)
	const gzipSent = "Connect-Content-Encoding: gzip"
	cases := []struct {
		name    string
		body    []byte
		headers []string
		want    string
	}{
		{"a good request", ok, nil, ""},
		{"C17: the media type is case-insensitive and may have parameters", ok, []string{"Content-Type: Application/Connect+JSON; foo=bar"}, ""},
		{"C18: version 1", ok, []string{"Connect-Protocol-Version: 1"}, ""},
		{"C21: another version", ok, []string{"Connect-Protocol-Version: 2"}, "invalid_argument"},
		{"C36: Accept-Encoding is not for streams", ok, []string{"Accept-Encoding: gzip"}, ""},
		{"C37: unknown encoding", ok, []string{"Connect-Content-Encoding: br"}, "unimplemented"},
		{"C38: compressed without declaration", gatewaytest.Envelope(1, string(gatewaytest.Gzipped([]byte(good)))), nil, "internal"},
		{"C39: declared and not compressed", ok, []string{gzipSent}, ""},
		{"C40: compressed", gatewaytest.Envelope(1, string(gatewaytest.Gzipped([]byte(good)))), []string{gzipSent}, ""},
		{"C42: corrupt compression", gatewaytest.Envelope(1, good), []string{gzipSent}, "invalid_argument"},
		{"C46: name of the encoding in capitals", gatewaytest.Envelope(1, string(gatewaytest.Gzipped([]byte(good)))), []string{"Connect-Content-Encoding: GZIP"}, ""},
		{"C50: ten digits", ok, []string{"Connect-Timeout-Ms: 9999999999"}, ""},
		{"C51: eleven digits", ok, []string{"Connect-Timeout-Ms: 10000000000"}, "invalid_argument"},
		{"C52: not a number", ok, []string{"Connect-Timeout-Ms: abc"}, "invalid_argument"},
		{"C53: zero", ok, []string{"Connect-Timeout-Ms: 0"}, "invalid_argument"},
		{"C53: negative", ok, []string{"Connect-Timeout-Ms: -5"}, "invalid_argument"},
		{"C53: signed", ok, []string{"Connect-Timeout-Ms: +500"}, "invalid_argument"},
		{"C95: not JSON", gatewaytest.Envelope(0, "{"), nil, "invalid_argument"},
		{"C97: empty JSON message", gatewaytest.Envelope(0, ""), nil, "invalid_argument"},
		{"C97: empty JSON message with the compressed bit", gatewaytest.Envelope(1, ""), []string{gzipSent}, "invalid_argument"},
		{"C98: unknown fields are ignored", gatewaytest.Envelope(0, strings.Replace(good, "{", `{"later":[1,{}],`, 1)), nil, ""},
		{"C124: no message", nil, nil, "unimplemented"},
		{"C125: two messages", join(ok, ok), nil, "unimplemented"},
		{"C126: end-of-stream bit alone", gatewaytest.Envelope(2, "{}"), nil, "invalid_argument"},
		{"C126: end-of-stream bit on the message", gatewaytest.Envelope(2, good), nil, "invalid_argument"},
		{"C126: end-of-stream envelope after the message", join(ok, gatewaytest.Envelope(2, "{}")), nil, "invalid_argument"},
		{"C127: reserved bit 0x04", gatewaytest.Envelope(4, good), nil, "invalid_argument"},
		{"C127: reserved bit 0x80", gatewaytest.Envelope(0x80, good), nil, "invalid_argument"},
		{"C127: reserved bit beside the compressed one", gatewaytest.Envelope(5, good), []string{gzipSent}, "invalid_argument"},
		{"C128: truncated header", []byte{0, 0, 0}, nil, "invalid_argument"},
		{"C128: truncated payload", ok[:len(ok)-3], nil, "invalid_argument"},
		{"C128: bytes after the message", join(ok, []byte("xyz")), nil, "invalid_argument"},
		{"C129: 4 GiB promised", []byte{0, 0xff, 0xff, 0xff, 0xff, '{'}, nil, "resource_exhausted"},
		{"C129: one byte over the limit", []byte{0, 1, 0, 0, 1, '{'}, nil, "resource_exhausted"},
		{"a field twice", gatewaytest.Envelope(0, `{"stdin":true,"stdin":true}`), nil, "invalid_argument"},
		{"a terminal that is too wide", gatewaytest.Envelope(0, `{"process":{"cmd":"x"},"pty":{"size":{"cols":65536}}}`), nil, "invalid_argument"},
		{"a working directory that is missing", gatewaytest.Envelope(0, `{"process":{"cmd":"pwd","cwd":"/no/such"}}`), nil, "invalid_argument"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			headers := append([]string{}, c.headers...)
			if !strings.Contains(strings.Join(headers, "\n"), "Content-Type:") {
				headers = append(headers, gatewaytest.Streaming)
			}
			conn := gatewaytest.Dial(t, g)
			conn.Request("POST", gatewaytest.StartPath, c.body, headers...)
			a := conn.Answer("POST")
			if a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/connect+json") {
				t.Errorf("C115, C116: status %d, content type %q", a.Status, a.Header.Get("Content-Type"))
			}
			if a.Code != c.want {
				t.Fatalf("error %q (%s), want %q", a.Code, a.Text, c.want)
			}
			if len(a.Frames) == 0 || a.Frames[len(a.Frames)-1].Flags&2 == 0 {
				t.Fatalf("C118: no end of stream in %q", a.Body)
			}
			if c.want != "" && len(a.Frames) != 1 {
				t.Errorf("%d frames before the error: the command was run", len(a.Frames)-1)
			}
			if _, present := a.Header["Connect-Content-Encoding"]; present && a.Header.Get("Connect-Content-Encoding") == "" {
				t.Error("C37: an empty Connect-Content-Encoding")
			}
			conn.Request("POST", gatewaytest.ListPath, []byte("{}"), gatewaytest.UnaryJSON)
			if b := conn.Answer("POST"); b.Status != http.StatusOK {
				t.Errorf("C133: the connection is not usable afterwards: %d", b.Status)
			}
		})
	}
}

// TestUnaryRequestsAreHeldAgainstTheProtocol covers the rules that a List
// request can break.
func TestUnaryRequestsAreHeldAgainstTheProtocol(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	cases := []struct {
		name    string
		body    string
		headers []string
		status  int
		code    string
	}{
		{"C12: JSON", "{}", []string{gatewaytest.UnaryJSON}, 200, ""},
		{"C12: proto", "", []string{"Content-Type: application/proto"}, 200, ""},
		{"C13: unsupported codec", "{}", []string{"Content-Type: application/xml"}, 415, ""},
		{"C14: foreign type", "{}", []string{"Content-Type: text/plain"}, 415, ""},
		{"C15: missing type", "{}", nil, 415, ""},
		{"C16: streaming type", "{}", []string{gatewaytest.Streaming}, 415, ""},
		{"gRPC is not served over HTTP/1.1", "", []string{"Content-Type: application/grpc"}, 415, ""},
		{"C17: case and parameters", "{}", []string{"Content-Type: Application/JSON; Foo=bar"}, 200, ""},
		{"a charset that is not UTF-8", "{}", []string{"Content-Type: application/json; charset=utf-16"}, 415, ""},
		{"C20: another version", "{}", []string{gatewaytest.UnaryJSON, "Connect-Protocol-Version: 2"}, 400, "invalid_argument"},
		{"C26: unknown encoding", "{}", []string{gatewaytest.UnaryJSON, "Content-Encoding: br"}, 501, "unimplemented"},
		{"C28: an empty body is never decompressed", "", []string{"Content-Type: application/proto", "Content-Encoding: gzip"}, 200, ""},
		{"C29: corrupt compression", "{}", []string{gatewaytest.UnaryJSON, "Content-Encoding: gzip"}, 400, "invalid_argument"},
		{"C52: timeout that is no number", "{}", []string{gatewaytest.UnaryJSON, "Connect-Timeout-Ms: x"}, 400, "invalid_argument"},
		{"C53: timeout of zero", "{}", []string{gatewaytest.UnaryJSON, "Connect-Timeout-Ms: 0"}, 400, "invalid_argument"},
		{"C53: negative timeout", "{}", []string{gatewaytest.UnaryJSON, "Connect-Timeout-Ms: -5"}, 400, "invalid_argument"},
		{"C95: not JSON", "[", []string{gatewaytest.UnaryJSON}, 400, "invalid_argument"},
		{"C95: not proto", "\xff", []string{"Content-Type: application/proto"}, 400, "invalid_argument"},
		{"C97: empty JSON body", "", []string{gatewaytest.UnaryJSON}, 400, "invalid_argument"},
		{"trailing data", "{}{}", []string{gatewaytest.UnaryJSON}, 400, "invalid_argument"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.ListPath, []byte(c.body), c.headers...)
			if a.Status != c.status || a.Code != c.code {
				t.Fatalf("status %d, error %q (%s); want %d %q", a.Status, a.Code, a.Text, c.status, c.code)
			}
			if a.Code != "" && a.Header.Get("Content-Type") != "application/json" {
				t.Errorf("C71: content type %q", a.Header.Get("Content-Type"))
			}
			if a.Status == 415 && a.Header.Get("Accept-Post") != "application/json, application/proto, application/grpc-web, application/grpc-web+json, application/grpc-web+proto" {
				t.Errorf("Accept-Post %q", a.Header.Get("Accept-Post"))
			}
			if c.code == "unimplemented" && !strings.Contains(a.Text, "gzip") {
				t.Errorf("C27: %q does not list the supported encodings", a.Text)
			}
		})
	}
}

func TestOnlyPostOnKnownPathsRunsAnything(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	for _, path := range []string{gatewaytest.ListPath, gatewaytest.StartPath} {
		for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"} {
			a := gatewaytest.RoundTrip(t, g, method, path, nil)
			if a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "POST" {
				t.Errorf("C4-C7, C11: %s %s: %d, Allow %q", method, path, a.Status, a.Header.Get("Allow"))
			}
		}
	}
	for _, path := range []string{"/process.Process/Nothing", "/process.process/List", gatewaytest.ListPath + "/", "/List", "/"} {
		if a := gatewaytest.RoundTrip(t, g, "POST", path, []byte("{}"), gatewaytest.UnaryJSON); a.Status != http.StatusNotFound {
			t.Errorf("C1, C2: %s: %d, want 404", path, a.Status)
		}
	}
}

func TestAnAnswerIsCompressedExactlyWhenTheClientAcceptsIt(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	body := gatewaytest.Gzipped([]byte("{}"))
	unaryCases := []struct {
		name    string
		headers []string
		want    string
	}{
		{"C30: gzip request without a list", []string{"Content-Encoding: gzip"}, "gzip"},
		{"C33: gzip request, identity accepted", []string{"Content-Encoding: gzip", "Accept-Encoding: identity"}, ""},
		{"C33: gzip request, gzip excluded", []string{"Content-Encoding: gzip", "Accept-Encoding: gzip;q=0"}, ""},
	}
	for _, c := range unaryCases {
		t.Run(c.name, func(t *testing.T) {
			a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.ListPath, body, append(c.headers, gatewaytest.UnaryJSON)...)
			if a.Status != 200 || a.Header.Get("Content-Encoding") != c.want {
				t.Errorf("status %d, Content-Encoding %q, want %q", a.Status, a.Header.Get("Content-Encoding"), c.want)
			}
		})
	}
	start := gatewaytest.Envelope(1, string(gatewaytest.Gzipped([]byte(gatewaytest.Shell("echo x")))))
	for accept, want := range map[string]byte{"identity": 0, "gzip": 1, "br, gzip;q=0.5": 1} {
		a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, start, gatewaytest.Streaming, "Connect-Content-Encoding: gzip", "Connect-Accept-Encoding: "+accept)
		encoding := a.Header.Get("Connect-Content-Encoding")
		if (encoding == "gzip") != (want == 1) {
			t.Errorf("C44: accept %q: Connect-Content-Encoding %q", accept, encoding)
		}
		for _, f := range a.Frames {
			if f.Flags&1 != want {
				t.Errorf("C43-C45: accept %q: a frame with flags %#x", accept, f.Flags)
			}
		}
	}
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
