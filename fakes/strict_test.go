package fakes

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func join(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// TestStreamRequestsAreHeldAgainstTheProtocol goes through the rules that a
// Start request can break. want is the code of the end of stream, "" for a
// stream that runs the command.
func TestStreamRequestsAreHeldAgainstTheProtocol(t *testing.T) {
	g := startGateway(t, Options{})
	good := shell("echo ran")
	ok := envelope(0, good)
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
		{"C38: compressed without declaration", envelope(1, string(gzipped([]byte(good)))), nil, "internal"},
		{"C39: declared and not compressed", ok, []string{gzipSent}, ""},
		{"C40: compressed", envelope(1, string(gzipped([]byte(good)))), []string{gzipSent}, ""},
		{"C42: corrupt compression", envelope(1, good), []string{gzipSent}, "invalid_argument"},
		{"C46: name of the encoding in capitals", envelope(1, string(gzipped([]byte(good)))), []string{"Connect-Content-Encoding: GZIP"}, ""},
		{"C50: ten digits", ok, []string{"Connect-Timeout-Ms: 9999999999"}, ""},
		{"C51: eleven digits", ok, []string{"Connect-Timeout-Ms: 10000000000"}, "invalid_argument"},
		{"C52: not a number", ok, []string{"Connect-Timeout-Ms: abc"}, "invalid_argument"},
		{"C53: zero", ok, []string{"Connect-Timeout-Ms: 0"}, "invalid_argument"},
		{"C53: negative", ok, []string{"Connect-Timeout-Ms: -5"}, "invalid_argument"},
		{"C53: signed", ok, []string{"Connect-Timeout-Ms: +500"}, "invalid_argument"},
		{"C95: not JSON", envelope(0, "{"), nil, "invalid_argument"},
		{"C97: empty JSON message", envelope(0, ""), nil, "invalid_argument"},
		{"C97: empty JSON message with the compressed bit", envelope(1, ""), []string{gzipSent}, "invalid_argument"},
		{"C98: unknown fields are ignored", envelope(0, strings.Replace(good, "{", `{"later":[1,{}],`, 1)), nil, ""},
		{"C124: no message", nil, nil, "unimplemented"},
		{"C125: two messages", join(ok, ok), nil, "unimplemented"},
		{"C126: end-of-stream bit alone", envelope(2, "{}"), nil, "invalid_argument"},
		{"C126: end-of-stream bit on the message", envelope(2, good), nil, "invalid_argument"},
		{"C126: end-of-stream envelope after the message", join(ok, envelope(2, "{}")), nil, "invalid_argument"},
		{"C127: reserved bit 0x04", envelope(4, good), nil, "invalid_argument"},
		{"C127: reserved bit 0x80", envelope(0x80, good), nil, "invalid_argument"},
		{"C127: reserved bit beside the compressed one", envelope(5, good), []string{gzipSent}, "invalid_argument"},
		{"C128: truncated header", []byte{0, 0, 0}, nil, "invalid_argument"},
		{"C128: truncated payload", ok[:len(ok)-3], nil, "invalid_argument"},
		{"C128: bytes after the message", join(ok, []byte("xyz")), nil, "invalid_argument"},
		{"C129: 4 GiB promised", []byte{0, 0xff, 0xff, 0xff, 0xff, '{'}, nil, "resource_exhausted"},
		{"C129: one byte over the limit", []byte{0, 1, 0, 0, 1, '{'}, nil, "resource_exhausted"},
		{"a field twice", envelope(0, `{"stdin":true,"stdin":true}`), nil, "invalid_argument"},
		{"a terminal that is too wide", envelope(0, `{"process":{"cmd":"x"},"pty":{"size":{"cols":65536}}}`), nil, "invalid_argument"},
		{"a working directory that is missing", envelope(0, `{"process":{"cmd":"pwd","cwd":"/no/such"}}`), nil, "invalid_argument"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			headers := append([]string{}, c.headers...)
			if !strings.Contains(strings.Join(headers, "\n"), "Content-Type:") {
				headers = append(headers, streaming)
			}
			conn := dial(t, g)
			conn.request("POST", startPath, c.body, headers...)
			a := conn.answer("POST")
			if a.status != http.StatusOK || !strings.HasPrefix(a.header.Get("Content-Type"), "application/connect+json") {
				t.Errorf("C115, C116: status %d, content type %q", a.status, a.header.Get("Content-Type"))
			}
			if a.code != c.want {
				t.Fatalf("error %q (%s), want %q", a.code, a.text, c.want)
			}
			if len(a.frames) == 0 || a.frames[len(a.frames)-1].flags&2 == 0 {
				t.Fatalf("C118: no end of stream in %q", a.body)
			}
			if c.want != "" && len(a.frames) != 1 {
				t.Errorf("%d frames before the error: the command was run", len(a.frames)-1)
			}
			if _, present := a.header["Connect-Content-Encoding"]; present && a.header.Get("Connect-Content-Encoding") == "" {
				t.Error("C37: an empty Connect-Content-Encoding")
			}
			conn.request("POST", listPath, []byte("{}"), unaryJSON)
			if b := conn.answer("POST"); b.status != http.StatusOK {
				t.Errorf("C133: the connection is not usable afterwards: %d", b.status)
			}
		})
	}
}

// TestUnaryRequestsAreHeldAgainstTheProtocol goes through the rules that a
// List request can break.
func TestUnaryRequestsAreHeldAgainstTheProtocol(t *testing.T) {
	g := startGateway(t, Options{})
	cases := []struct {
		name    string
		body    string
		headers []string
		status  int
		code    string
	}{
		{"C12: JSON", "{}", []string{unaryJSON}, 200, ""},
		{"C12: proto", "", []string{"Content-Type: application/proto"}, 200, ""},
		{"C13: unsupported codec", "{}", []string{"Content-Type: application/xml"}, 415, ""},
		{"C14: foreign type", "{}", []string{"Content-Type: text/plain"}, 415, ""},
		{"C15: missing type", "{}", nil, 415, ""},
		{"C16: streaming type", "{}", []string{streaming}, 415, ""},
		{"gRPC is not served over HTTP/1.1", "", []string{"Content-Type: application/grpc"}, 415, ""},
		{"C17: case and parameters", "{}", []string{"Content-Type: Application/JSON; Foo=bar"}, 200, ""},
		{"a charset that is not UTF-8", "{}", []string{"Content-Type: application/json; charset=utf-16"}, 415, ""},
		{"C20: another version", "{}", []string{unaryJSON, "Connect-Protocol-Version: 2"}, 400, "invalid_argument"},
		{"C26: unknown encoding", "{}", []string{unaryJSON, "Content-Encoding: br"}, 501, "unimplemented"},
		{"C28: an empty body is never decompressed", "", []string{"Content-Type: application/proto", "Content-Encoding: gzip"}, 200, ""},
		{"C29: corrupt compression", "{}", []string{unaryJSON, "Content-Encoding: gzip"}, 400, "invalid_argument"},
		{"C52: timeout that is no number", "{}", []string{unaryJSON, "Connect-Timeout-Ms: x"}, 400, "invalid_argument"},
		{"C53: timeout of zero", "{}", []string{unaryJSON, "Connect-Timeout-Ms: 0"}, 400, "invalid_argument"},
		{"C53: negative timeout", "{}", []string{unaryJSON, "Connect-Timeout-Ms: -5"}, 400, "invalid_argument"},
		{"C95: not JSON", "[", []string{unaryJSON}, 400, "invalid_argument"},
		{"C95: not proto", "\xff", []string{"Content-Type: application/proto"}, 400, "invalid_argument"},
		{"C97: empty JSON body", "", []string{unaryJSON}, 400, "invalid_argument"},
		{"trailing data", "{}{}", []string{unaryJSON}, 400, "invalid_argument"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := roundTrip(t, g, "POST", listPath, []byte(c.body), c.headers...)
			if a.status != c.status || a.code != c.code {
				t.Fatalf("status %d, error %q (%s); want %d %q", a.status, a.code, a.text, c.status, c.code)
			}
			if a.code != "" && a.header.Get("Content-Type") != "application/json" {
				t.Errorf("C71: content type %q", a.header.Get("Content-Type"))
			}
			if a.status == 415 && a.header.Get("Accept-Post") != "application/json, application/proto, application/grpc-web, application/grpc-web+json, application/grpc-web+proto" {
				t.Errorf("Accept-Post %q", a.header.Get("Accept-Post"))
			}
			if c.code == "unimplemented" && !strings.Contains(a.text, "gzip") {
				t.Errorf("C27: %q does not list the supported encodings", a.text)
			}
		})
	}
}

func TestOnlyPostOnKnownPathsRunsAnything(t *testing.T) {
	g := startGateway(t, Options{})
	for _, path := range []string{listPath, startPath} {
		for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"} {
			a := roundTrip(t, g, method, path, nil)
			if a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "POST" {
				t.Errorf("C4-C7, C11: %s %s: %d, Allow %q", method, path, a.status, a.header.Get("Allow"))
			}
		}
	}
	for _, path := range []string{"/process.Process/Nothing", "/process.process/List", listPath + "/", "/List", "/"} {
		if a := roundTrip(t, g, "POST", path, []byte("{}"), unaryJSON); a.status != http.StatusNotFound {
			t.Errorf("C1, C2: %s: %d, want 404", path, a.status)
		}
	}
}

func TestAnAnswerIsCompressedExactlyWhenTheClientAcceptsIt(t *testing.T) {
	g := startGateway(t, Options{})
	body := gzipped([]byte("{}"))
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
			a := roundTrip(t, g, "POST", listPath, body, append(c.headers, unaryJSON)...)
			if a.status != 200 || a.header.Get("Content-Encoding") != c.want {
				t.Errorf("status %d, Content-Encoding %q, want %q", a.status, a.header.Get("Content-Encoding"), c.want)
			}
		})
	}
	start := envelope(1, string(gzipped([]byte(shell("echo x")))))
	for accept, want := range map[string]byte{"identity": 0, "gzip": 1, "br, gzip;q=0.5": 1} {
		a := roundTrip(t, g, "POST", startPath, start, streaming, "Connect-Content-Encoding: gzip", "Connect-Accept-Encoding: "+accept)
		encoding := a.header.Get("Connect-Content-Encoding")
		if (encoding == "gzip") != (want == 1) {
			t.Errorf("C44: accept %q: Connect-Content-Encoding %q", accept, encoding)
		}
		for _, f := range a.frames {
			if f.flags&1 != want {
				t.Errorf("C43-C45: accept %q: a frame with flags %#x", accept, f.flags)
			}
		}
	}
}

func TestAnEnvelopeMayComeByteByByteOrInChunks(t *testing.T) {
	g := startGateway(t, Options{})
	body := envelope(0, shell("echo split"))
	c := dial(t, g)
	c.request("POST", startPath, nil, streaming, fmt.Sprintf("Content-Length: %d", len(body)))
	for i := range body {
		if _, err := c.Write(body[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if a := c.answer("POST"); a.code != "" || len(a.events(t)) != 3 {
		t.Errorf("C130: byte by byte: %q", a.body)
	}
	c.request("POST", startPath, nil, streaming, "Transfer-Encoding: chunked")
	for i := range body {
		fmt.Fprintf(c, "1;ext=v\r\n%s\r\n", body[i:i+1])
	}
	fmt.Fprint(c, "0\r\n\r\n")
	if a := c.answer("POST"); a.code != "" || len(a.events(t)) != 3 {
		t.Errorf("C130: in chunks: %q", a.body)
	}
}

func TestARefusalDoesNotWaitForABodyThatDoesNotCome(t *testing.T) {
	g := startGateway(t, Options{})
	cases := []struct {
		name, path, contentType string
		body                    []byte
		status                  int
		code                    string
	}{
		{"a length over the limit", startPath, streaming, []byte{0, 0xff, 0xff, 0xff, 0xff, '{'}, 200, "resource_exhausted"},
		{"a reserved bit", startPath, streaming, []byte{4, 0, 0, 0, 9}, 200, "invalid_argument"},
		{"a foreign content type", startPath, "Content-Type: text/plain", nil, 415, ""},
		{"an unknown path", "/process.Process/None", streaming, nil, 404, ""},
	}
	var conns []*rawConn
	for _, c := range cases { // all at once: each answer ends when the gateway has given up the rest of the body
		conn := dial(t, g)
		conn.request("POST", c.path, c.body, c.contentType, "Content-Length: 5000")
		conns = append(conns, conn)
	}
	for i, c := range cases {
		if a := conns[i].answer("POST"); a.status != c.status || a.code != c.code {
			t.Errorf("%s: %d %q, want %d %q", c.name, a.status, a.code, c.status, c.code)
		}
	}
}

func TestABodyThatDoesNotComeEndsWithTheTimeout(t *testing.T) {
	g := startGateway(t, Options{})
	begin := time.Now()
	c := dial(t, g)
	c.request("POST", startPath, []byte{0, 0}, streaming, "Content-Length: 100", "Connect-Timeout-Ms: 50")
	if a := c.answer("POST"); a.code != "deadline_exceeded" {
		t.Errorf("C48: %q after %v, want deadline_exceeded", a.code, time.Since(begin))
	}
}

func TestAnErrorOfStreamInputIsAnsweredWhileTheClientStillSends(t *testing.T) {
	g := startGateway(t, Options{})
	cases := []struct {
		name string
		body []byte
		code string
	}{
		{"data before start", envelope(0, `{"data":{"input":{"stdin":"eA=="}}}`), "invalid_argument"},
		{"unknown process", envelope(0, `{"start":{"process":{"pid":4000000}}}`), "not_found"},
		{"C126: end-of-stream bit", envelope(2, `{}`), "invalid_argument"},
		{"C127: reserved bit", envelope(8, `{}`), "invalid_argument"},
		{"C38: compressed without declaration", envelope(1, `{}`), "internal"},
		{"C97: empty JSON message", envelope(0, ""), "invalid_argument"},
		{"bytes that are not base64", envelope(0, `{"data":{"input":{"stdin":"*"}}}`), "invalid_argument"},
	}
	var conns []*rawConn
	for _, c := range cases {
		conn := dial(t, g)
		conn.request("POST", "/process.Process/StreamInput", nil, streaming, "Transfer-Encoding: chunked")
		fmt.Fprintf(conn, "%x\r\n%s\r\n", len(c.body), c.body)
		conns = append(conns, conn)
	}
	for i, c := range cases {
		if a := conns[i].answer("POST"); a.status != 200 || a.code != c.code {
			t.Errorf("%s: %d %q (%s), want %q", c.name, a.status, a.code, a.text, c.code)
		}
	}
}

func TestStreamInputReportsWhatIsCut(t *testing.T) {
	g := startGateway(t, Options{})
	whole := envelope(0, `{"keepalive":{}}`)
	for name, body := range map[string][]byte{"header": append(whole, 0, 0), "payload": whole[:len(whole)-1]} {
		if a := roundTrip(t, g, "POST", "/process.Process/StreamInput", body, streaming); a.code != "invalid_argument" {
			t.Errorf("C128: truncated %s: %q", name, a.code)
		}
	}
	if a := roundTrip(t, g, "POST", "/process.Process/StreamInput", append(whole, whole...), streaming); a.code != "" || len(a.frames) != 2 {
		t.Errorf("two keepalives: %q, %q", a.code, a.body)
	}
}
