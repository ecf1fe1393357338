package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"assay/fakes/gatewaytest"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

func TestEveryProtocolRunsACommandOverEveryVersionOfHTTP(t *testing.T) {
	t.Parallel()
	plain, secure := startGateway(t, Options{}), startGateway(t, Options{TLS: true})
	protocols := map[string][]connect.ClientOption{
		"connect":  nil,
		"grpc":     {connect.WithGRPC()},
		"grpc-web": {connect.WithGRPCWeb()},
	}
	for version, g := range map[string]*Gateway{"1.1": plain, "h2c": plain, "h2-tls": secure, "1.1 over TLS": secure} {
		for protocol, as := range protocols {
			if protocol == "grpc" && strings.HasPrefix(version, "1.1") {
				continue
			}
			for codec, opts := range gatewaytest.Codecs() {
				t.Run(version+" "+protocol+" "+codec, func(t *testing.T) {
					hc := gatewaytest.HTTPClient(t, g, strings.TrimSuffix(version, " over TLS"))
					c := processconnect.NewProcessClient(hc, g.URL(), append(opts, as...)...)
					s := gatewaytest.Begin(t, c, gatewaytest.Sh("echo out; echo err >&2; exit 3"))
					out, errs, end, err := s.Rest()
					if out != "out\n" || errs != "err\n" || end.GetExitCode() != 3 || err != nil {
						t.Errorf("%q %q %v %v", out, errs, end, err)
					}
					if _, err := c.List(gatewaytest.Deadline(t), connect.NewRequest(&envd.ListRequest{})); err != nil {
						t.Errorf("List: %v", err)
					}
					_, err = c.SendSignal(gatewaytest.Deadline(t), gatewaytest.Signal(s.PID, envd.Signal_SIGNAL_SIGKILL))
					if connect.CodeOf(err) != connect.CodeNotFound {
						t.Errorf("a signal for an ended process: %v", err)
					}
				})
			}
		}
	}
}

// TestGRPCRequestsAreHeldAgainstTheProtocol covers the rules that a request can break,
// over gRPC and gRPC-Web.
func TestGRPCRequestsAreHeldAgainstTheProtocol(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	ok := gatewaytest.Envelope(0, gatewaytest.Shell("echo ran"))
	zipped := gatewaytest.Envelope(1, string(gatewaytest.Gzipped([]byte(gatewaytest.Shell("echo ran")))))
	declared := map[string]string{"Grpc-Encoding": "gzip", "Grpc-Accept-Encoding": "identity"}
	timeout := func(v string) map[string]string { return map[string]string{"Grpc-Timeout": v} }
	cases := []struct {
		name    string
		body    []byte
		headers map[string]string
		want    string
	}{
		{"a good request", ok, nil, "0"},
		{"G21: unknown method", ok, map[string]string{"path": "/process.Process/Nonsense"}, "12"},
		{"G21: unknown service", ok, map[string]string{"path": "/no.Such/Service"}, "12"},
		{"G16: compressed without declaration", zipped, nil, "13"},
		{"a compressed message", zipped, declared, "0"},
		{"declared and not compressed", ok, declared, "0"},
		{"G17: unknown encoding", ok, map[string]string{"Grpc-Encoding": "br"}, "12"},
		{"G18: corrupt compression", gatewaytest.Envelope(1, gatewaytest.Shell("echo ran")), declared, "13"},
		{"G20: no message", nil, nil, "12"},
		{"G20: two messages", join(ok, ok), nil, "12"},
		{"G22: too large", []byte{0, 0xff, 0xff, 0xff, 0xff, '{'}, nil, "8"},
		{"G23: no unit", ok, timeout("100"), "3"},
		{"G23: unknown unit", ok, timeout("100x"), "3"},
		{"G23: nine digits", ok, timeout("100000000n"), "3"},
		{"G23: a sign", ok, timeout("+1S"), "3"},
		{"G23: no digits", ok, timeout("S"), "3"},
		{"eight digits", ok, timeout("99999999S"), "0"},
		{"a timeout too long for a duration", ok, timeout("99999999H"), "0"},
		{"G24: a deadline that passes", gatewaytest.Envelope(0, gatewaytest.Shell("sleep 30")), timeout("50m"), "4"},
		{"G24: a deadline that has passed", ok, timeout("0n"), "4"},
		{"G30: not JSON", gatewaytest.Envelope(0, "{"), nil, "13"},
		{"G30: an empty JSON message", gatewaytest.Envelope(0, ""), nil, "13"},
		{"G32: a reserved bit", gatewaytest.Envelope(2, gatewaytest.Shell("true")), nil, "13"},
		{"a truncated header", []byte{0, 0}, nil, "13"},
		{"a truncated message", ok[:len(ok)-1], nil, "13"},
		{"an error of the service", gatewaytest.Envelope(0, `{"process":{"cmd":"pwd","cwd":"/no/such"}}`), nil, "3"},
	}
	for _, family := range []string{"application/grpc+json", "application/grpc-web+json"} {
		for _, c := range cases {
			t.Run(family+" "+c.name, func(t *testing.T) {
				headers := map[string]string{"Content-Type": family}
				path := gatewaytest.StartPath
				for k, v := range c.headers {
					if k == "path" {
						path = v
						continue
					}
					headers[k] = v
				}
				res, body := gatewaytest.GRPCCall(t, g, path, c.body, headers)
				if got := gatewaytest.GRPCStatus(res, body); got != c.want || res.StatusCode != http.StatusOK {
					t.Errorf("HTTP %d, grpc-status %q (%s), want 200 and %s", res.StatusCode, got, res.Header.Get("Grpc-Message"), c.want)
				}
				if got := res.Header.Get("Content-Type"); got != family {
					t.Errorf("content type %q", got)
				}
				if strings.Contains(family, "web") && len(res.Trailer) > 0 {
					t.Errorf("W11: HTTP trailers %v", res.Trailer)
				}
				if strings.HasPrefix(c.name, "G17") && res.Header.Get("Grpc-Accept-Encoding") != "gzip" {
					t.Errorf("G17: grpc-accept-encoding %q", res.Header.Get("Grpc-Accept-Encoding"))
				}
			})
		}
	}
	if n := len(g.table.List()); n != 0 {
		t.Errorf("%d processes are left running", n)
	}
}

func TestAnImmediateGRPCErrorIsTrailersOnly(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	res, body := gatewaytest.GRPCCall(t, g, "/no.Such/Service", nil, nil)
	if res.Header.Get("Grpc-Status") != "12" || len(res.Trailer) != 0 || len(body) != 0 {
		t.Errorf("G8: header %v, trailer %v, %d bytes", res.Header, res.Trailer, len(body))
	}
}

func TestContentTypesOfGRPCThatAreNotServed(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	for _, typ := range []string{"application/grpc+thrift", "application/grpc-web-text", "application/grpcish", "application/grpc-web+thrift"} {
		res, _ := gatewaytest.GRPCCall(t, g, gatewaytest.StartPath, nil, map[string]string{"Content-Type": typ})
		if res.StatusCode != http.StatusUnsupportedMediaType || !strings.Contains(res.Header.Get("Accept-Post"), "application/grpc+json") {
			t.Errorf("%s: %d, Accept-Post %q", typ, res.StatusCode, res.Header.Get("Accept-Post"))
		}
	}
	a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, nil, "Content-Type: application/grpc")
	if a.Status != http.StatusUnsupportedMediaType || strings.Contains(a.Header.Get("Accept-Post"), "application/grpc,") {
		t.Errorf("gRPC over HTTP/1.1: %d, Accept-Post %q", a.Status, a.Header.Get("Accept-Post"))
	}
}

func TestAGRPCDeadlineKillsLikeAConnectOne(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	var begun []*gatewaytest.Stream
	for _, as := range []connect.ClientOption{connect.WithGRPC(), connect.WithGRPCWeb()} {
		c := processconnect.NewProcessClient(gatewaytest.HTTPClient(t, g, "h2c"), g.URL(), as)
		// Only the header carries the deadline: the client does not cancel the call.
		req := gatewaytest.Sh("echo so far; sleep 100")
		req.Header().Set("Grpc-Timeout", gatewaytest.Late+"m")
		begun = append(begun, gatewaytest.Begin(t, c, req))
	}
	for _, s := range begun {
		out, _, end, err := s.Rest()
		if out != "so far\n" || end != nil || connect.CodeOf(err) != connect.CodeDeadlineExceeded {
			t.Errorf("%q, %v, %v", out, end, err)
		}
	}
	wantBooks(t, g, 2, 0, 0, 2, 0)
}

func TestALostHTTP2StreamLeavesTheProcessRunning(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := processconnect.NewProcessClient(gatewaytest.HTTPClient(t, g, "h2c"), g.URL(), connect.WithGRPC())
	s := gatewaytest.Begin(t, c, gatewaytest.Sh("read x; exit 5"))
	s.Cancel()
	for s.Receive() {
	}
	again, err := c.Connect(gatewaytest.Deadline(t), connect.NewRequest(&envd.ConnectRequest{Process: gatewaytest.ByPID(s.PID)}))
	if err != nil || !again.Receive() {
		t.Fatal(err, again.Err())
	}
	if _, err := c.SendInput(gatewaytest.Deadline(t), gatewaytest.Stdin(s.PID, "\n")); err != nil {
		t.Fatal(err)
	}
	var code int32
	for again.Receive() {
		code = again.Msg().GetEvent().GetEnd().GetExitCode()
	}
	if code != 5 || again.Err() != nil {
		t.Errorf("exit code %d, %v", code, again.Err())
	}
}

func TestTheTLSGatewaySaysWhatItIsToAClientWithoutTLS(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{TLS: true})
	if !strings.HasPrefix(g.URL(), "https://127.0.0.1:") {
		t.Errorf("URL %s", g.URL())
	}
	res, err := http.Get("http://" + strings.TrimPrefix(g.URL(), "https://") + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "HTTPS") {
		t.Errorf("%d %q", res.StatusCode, body)
	}
	if _, err := gatewaytest.HTTPClient(t, startGateway(t, Options{}), "h2-tls").Get(g.URL() + "/health"); err == nil {
		t.Error("a client without the certificate was served")
	}
}

func TestManyStreamsFitOnOneConnection(t *testing.T) {
	t.Parallel()
	const streams = 300 // net/http allows 250 by default
	g := startGateway(t, Options{})
	hc := gatewaytest.HTTPClient(t, g, "h2c")
	var dialed atomic.Int64
	hc.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	c := processconnect.NewProcessClient(hc, g.URL(), connect.WithGRPC(), uncompressed)
	ctx, cancel := context.WithTimeout(t.Context(), 3*gatewaytest.Patience)
	defer cancel()
	errs := make(chan error, streams)
	errs <- startsOne(ctx, c) // the others find its connection
	for range streams - 1 {
		go func() { errs <- startsOne(ctx, c) }()
	}
	for range streams {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	if n := len(g.table.List()); n != streams {
		t.Errorf("%d processes, want %d", n, streams)
	}
	if n := dialed.Load(); n != 1 {
		t.Errorf("%d connections, want one", n)
	}
	if maxStreams < 10_000 {
		t.Errorf("only %d streams are allowed", maxStreams)
	}
}

// startsOne starts a process and waits for its start event.
func startsOne(ctx context.Context, c processconnect.ProcessClient) error {
	s, err := c.Start(ctx, gatewaytest.Sh("read x"))
	if err != nil {
		return err
	}
	if !s.Receive() {
		return errors.Join(errors.New("no start event"), s.Err())
	}
	return nil
}
