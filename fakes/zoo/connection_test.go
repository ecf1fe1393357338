package zoo

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/fakes/gateway"
	"assay/fakes/gatewaytest"
)

// closedBehind makes one request and reports whether the response announces the
// end of the connection, and whether the connection ends before a second
// response.
func closedBehind(t *testing.T, g *gateway.Gateway, path, body, contentType string) (says, ends bool) {
	t.Helper()
	c := gatewaytest.Dial(t, g)
	raw := []byte(body)
	if contentType == gatewaytest.Streaming {
		raw = gatewaytest.Envelope(0, body)
	}
	c.Request("POST", path, raw, contentType)
	resp, err := http.ReadResponse(c.R, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	// The connection may be gone by now, or by the time that the request arrives.
	_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: test\r\n%s\r\nContent-Length: 2\r\n\r\n{}", gatewaytest.ListPath, gatewaytest.UnaryJSON)
	_, err = c.R.ReadByte()
	return resp.Close, err != nil
}

func TestVariantsCloseConnectionsAsTheySay(t *testing.T) {
	t.Parallel()
	const signalPath = "/process.Process/SendSignal"
	nobody := `{"process":{"pid":4000000000},"signal":"SIGNAL_SIGKILL"}`
	for _, c := range []struct {
		name, variant, path, body, contentType string
		says, ends                             bool
	}{
		{"a success", "connection-closed-after-error", gatewaytest.ListPath, "{}", gatewaytest.UnaryJSON, false, false},
		{"a successful stream", "connection-closed-after-error", gatewaytest.StartPath, gatewaytest.Shell("true"), gatewaytest.Streaming, false, false},
		{"a unary error", "connection-closed-after-error", signalPath, nobody, gatewaytest.UnaryJSON, true, true},
		{"a stream that failed", "connection-closed-after-error", gatewaytest.StartPath, "{", gatewaytest.Streaming, true, true},
		{"another content type", "connection-closed-after-error", gatewaytest.ListPath, "{}", "Content-Type: text/plain", true, true},
		{"a success", "idle-close", gatewaytest.ListPath, "{}", gatewaytest.UnaryJSON, false, true},
		{"a stream", "idle-close", gatewaytest.StartPath, gatewaytest.Shell("true"), gatewaytest.Streaming, false, true},
		{"a unary error", "idle-close", signalPath, nobody, gatewaytest.UnaryJSON, false, true},
		{"one request", "refuses-pipelining", gatewaytest.ListPath, "{}", gatewaytest.UnaryJSON, false, false},
		{"a unary error", "", signalPath, nobody, gatewaytest.UnaryJSON, false, false},
	} {
		var o Options
		if c.variant != "" {
			o.Variants = []string{c.variant}
		}
		says, ends := closedBehind(t, startGateway(t, o), c.path, c.body, c.contentType)
		if says != c.says || ends != c.ends {
			t.Errorf("%s: %s: says %v, ends %v", c.variant, c.name, says, ends)
		}
	}
}

func TestVariantRefusesPipelining(t *testing.T) {
	t.Parallel()
	one := "POST " + gatewaytest.ListPath + " HTTP/1.1\r\nHost: test\r\n" + gatewaytest.UnaryJSON + "\r\nContent-Length: 2\r\n\r\n{}"
	for variant, want := range map[string]int{"refuses-pipelining": 1, "idle-close": 1, "pids-high": 2} {
		c := gatewaytest.Dial(t, startGateway(t, Options{Variants: []string{variant}}))
		if _, err := c.Write([]byte(one + one)); err != nil {
			t.Fatal(err)
		}
		answers := 0
		for range 2 {
			resp, err := http.ReadResponse(c.R, nil)
			if err != nil {
				break
			}
			answers++
			_, _ = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		if answers != want {
			t.Errorf("%s: %d of 2 pipelined requests got a response, want %d", variant, answers, want)
		}
	}
}

// recordedConn records the lengths of the writes.
type recordedConn struct {
	net.Conn
	sizes []int
	bytes.Buffer
}

func (r *recordedConn) Write(p []byte) (int, error) {
	r.sizes = append(r.sizes, len(p))
	return r.Buffer.Write(p)
}

func (r *recordedConn) Read(p []byte) (int, error) { return r.Buffer.Read(p) }

func TestADripConnWritesTheFirstBytesOneByOne(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 3, drip, drip + 100} {
		r := &recordedConn{}
		text := strings.Repeat("ab", size)[:size]
		if n, err := (dripConn{r}).Write([]byte(text)); n != size || err != nil || r.String() != text {
			t.Errorf("%d bytes: %d %v %q", size, n, err, r.String())
		}
		want := slices.Repeat([]int{1}, min(size, drip))
		if size > drip {
			want = append(want, size-drip)
		}
		if !slices.Equal(r.sizes, want) {
			t.Errorf("%d bytes were written as %v", size, r.sizes)
		}
	}
	built, err := Options{Variants: []string{"one-byte-writes"}}.build()
	if err != nil || built.Seams.Conn == nil {
		t.Errorf("the variant changes nothing: %v", err)
	}
}

func TestVariantsOfChoiceShowOnTheWire(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		variant, method, path string
		headers               []string
		status                int
		allow, body           string
	}{
		{"router-json-404", "POST", "/no/such", nil, 404, "", `{"code":"not_found","message":"route POST /no/such not found"}`},
		{"router-json-404", "POST", "/process.Process/Nothing", []string{gatewaytest.UnaryJSON}, 404, "", `{"code":"not_found","message":"route POST /process.Process/Nothing not found"}`},
		{"router-json-404", "PUT", gatewaytest.ListPath, nil, 405, "POST", ""},
		{"router-json-404", "POST", "/no.Such/Service", []string{"Content-Type: application/grpc-web"}, 200, "", ""},
		{"", "POST", "/no/such", nil, 404, "", "404 page not found\n"},
		{"error-any-code-timeouts", "POST", gatewaytest.ListPath, []string{gatewaytest.UnaryJSON, "Connect-Timeout-Ms: 0"}, 400, "", `{"code":"out_of_range","message":"parse timeout: \"0\" is not one positive integer"}`},
		{"error-any-code-timeouts", "POST", gatewaytest.ListPath, []string{gatewaytest.UnaryJSON, "Connect-Timeout-Ms: -1"}, 400, "", `{"code":"invalid_argument","message":"parse timeout: \"-1\" is not a positive integer"}`},
		{"head-like-get", "HEAD", "/assay.v1.Probe/Safe?connect=v1&encoding=json&message=%7B%7D", nil, 200, "", ""},
		{"head-like-get", "PUT", "/assay.v1.Probe/Safe", nil, 405, "GET, HEAD, POST", ""},
		{"head-like-get", "HEAD", gatewaytest.ListPath, nil, 405, "POST", ""},
		{"", "HEAD", "/assay.v1.Probe/Safe?connect=v1&encoding=json&message=%7B%7D", nil, 405, "GET, POST", ""},
	} {
		var o Options
		if c.variant != "" {
			o.Variants = []string{c.variant}
		}
		var body []byte
		if c.method != "HEAD" {
			body = []byte("{}")
		}
		a := gatewaytest.RoundTrip(t, startGateway(t, o), c.method, c.path, body, c.headers...)
		if a.Status != c.status || a.Header.Get("Allow") != c.allow || string(a.Body) != c.body {
			t.Errorf("%s: %s %s: %d, Allow %q, %q", c.variant, c.method, c.path, a.Status, a.Header.Get("Allow"), a.Body)
		}
	}
}

func TestVariantLoginShellSlowStartsAtOnceAndRunsLate(t *testing.T) {
	t.Parallel()
	c := gatewaytest.Client(t, startGateway(t, Options{Variants: []string{"login-shell-slow"}}))
	for script, want := range map[string]int32{"exit 3": 3, "no-such-command": 127, "/": 126} {
		asked := time.Now()
		s := gatewaytest.Begin(t, c, gatewaytest.Sh(script))
		_, _, end, err := s.Rest()
		if took := time.Since(asked); took < 300*time.Millisecond || end.GetExitCode() != want || err != nil {
			t.Errorf("%s: %v %v after %v", script, end, err, took)
		}
	}
	req := gatewaytest.Sh("")
	req.Msg.Process.Cmd, req.Msg.Process.Args = "/no/such/program", nil
	if _, _, end, err := gatewaytest.Begin(t, c, req).Rest(); end.GetExitCode() != 127 || err != nil {
		t.Errorf("a missing program: %v %v", end, err)
	}
	if out, _, _, err := gatewaytest.Begin(t, c, gatewaytest.Sh("echo $$; echo \"$0\"")).Rest(); err != nil || !strings.HasSuffix(out, "\n/bin/sh\n") {
		t.Errorf("the shell is %q, %v", out, err)
	}
}

func TestARequestIsPipelinedWhenItCameBeforeTheLastAnswerWasWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		early, write bool
		reads        int
		want         bool
	}{
		{"the first request", false, true, 0, false},
		{"one after the response", false, true, 1, false},
		{"one in the same read", false, true, 0, true},
		{"one during the response", true, true, 1, true},
		{"one just after the last byte of the response", true, false, 1, false},
	} {
		k := &keptConn{Conn: &recordedConn{Buffer: *bytes.NewBufferString("POST")}}
		if c.early {
			_, _ = k.Read(make([]byte, 1))
		}
		if c.write {
			_, _ = k.Write([]byte("HTTP/1.1 200"))
		}
		if c.name != "the first request" {
			k.idle.Store(k.reads.Load() + 1)
		}
		for range c.reads {
			_, _ = k.Read(make([]byte, 4096))
		}
		if got := k.pipelined(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestVariantRefusesPipeliningKeepsAClientThatWaits(t *testing.T) {
	t.Parallel()
	c := gatewaytest.Dial(t, startGateway(t, Options{Variants: []string{"refuses-pipelining"}}))
	for i := range 100 {
		c.Request("POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("true")), gatewaytest.Streaming)
		if a := c.Answer("POST"); len(a.Events(t)) != 2 {
			t.Fatalf("request %d: %s", i, a.Body)
		}
	}
}
