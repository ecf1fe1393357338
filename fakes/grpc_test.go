package fakes

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

// httpClient speaks a version of HTTP to a gateway: 1.1, h2c or h2-tls.
func httpClient(t *testing.T, g *Gateway, version string) *http.Client {
	t.Helper()
	p := &http.Protocols{}
	tr := &http.Transport{Protocols: p}
	switch version {
	case "1.1":
		p.SetHTTP1(true)
	case "h2c":
		p.SetUnencryptedHTTP2(true)
	default:
		p.SetHTTP2(true)
	}
	if g.CACert() != nil {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(g.CACert()) {
			t.Fatal("the gateway's certificate is no PEM")
		}
		tr.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestEveryProtocolRunsACommandOverEveryVersionOfHTTP(t *testing.T) {
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
			for codec, opts := range codecs() {
				t.Run(version+" "+protocol+" "+codec, func(t *testing.T) {
					hc := httpClient(t, g, strings.TrimSuffix(version, " over TLS"))
					c := processconnect.NewProcessClient(hc, g.URL(), append(opts, as...)...)
					s := begin(t, c, sh("echo out; echo err >&2; exit 3"))
					out, errs, end, err := s.rest()
					if out != "out\n" || errs != "err\n" || end.GetExitCode() != 3 || err != nil {
						t.Errorf("%q %q %v %v", out, errs, end, err)
					}
					if _, err := c.List(deadline(t), connect.NewRequest(&envd.ListRequest{})); err != nil {
						t.Errorf("List: %v", err)
					}
					_, err = c.SendSignal(deadline(t), signal(s.pid, envd.Signal_SIGNAL_SIGKILL))
					if connect.CodeOf(err) != connect.CodeNotFound {
						t.Errorf("a signal for an ended process: %v", err)
					}
				})
			}
		}
	}
}

// grpcCall posts a body to a path over h2c and reads the answer whole.
func grpcCall(t *testing.T, g *Gateway, path string, body []byte, headers map[string]string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(deadline(t), http.MethodPost, g.URL()+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Te", "trailers")
	req.Header.Set("Content-Type", "application/grpc+json")
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	res, err := httpClient(t, g, "h2c").Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, raw
}

// status is the grpc-status of an answer, wherever it may stand.
func status(res *http.Response, body []byte) string {
	if v := res.Trailer.Get("Grpc-Status"); v != "" {
		return v
	}
	if v := res.Header.Get("Grpc-Status"); v != "" {
		return v
	}
	_, after, _ := strings.Cut(string(body), "grpc-status: ")
	v, _, _ := strings.Cut(after, "\r\n")
	return v
}

// TestGRPCRequestsAreHeldAgainstTheProtocol goes through the rules that a
// request can break, over gRPC and gRPC-Web.
func TestGRPCRequestsAreHeldAgainstTheProtocol(t *testing.T) {
	g := startGateway(t, Options{})
	ok := envelope(0, shell("echo ran"))
	zipped := envelope(1, string(gzipped([]byte(shell("echo ran")))))
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
		{"G18: corrupt compression", envelope(1, shell("echo ran")), declared, "13"},
		{"G20: no message", nil, nil, "12"},
		{"G20: two messages", join(ok, ok), nil, "12"},
		{"G22: too large", []byte{0, 0xff, 0xff, 0xff, 0xff, '{'}, nil, "8"},
		{"G23: no unit", ok, timeout("100"), "3"},
		{"G23: unknown unit", ok, timeout("100x"), "3"},
		{"G23: nine digits", ok, timeout("100000000n"), "3"},
		{"G23: a sign", ok, timeout("+1S"), "3"},
		{"G23: no digits", ok, timeout("S"), "3"},
		{"eight digits", ok, timeout("99999999S"), "0"},
		{"a timeout beyond what can be counted", ok, timeout("99999999H"), "0"},
		{"G24: a deadline that passes", envelope(0, shell("sleep 30")), timeout("50m"), "4"},
		{"G24: a deadline that has passed", ok, timeout("0n"), "4"},
		{"G30: not JSON", envelope(0, "{"), nil, "13"},
		{"G30: an empty JSON message", envelope(0, ""), nil, "13"},
		{"G32: a reserved bit", envelope(2, shell("true")), nil, "13"},
		{"a truncated header", []byte{0, 0}, nil, "13"},
		{"a truncated message", ok[:len(ok)-1], nil, "13"},
		{"an error of the service", envelope(0, `{"process":{"cmd":"pwd","cwd":"/no/such"}}`), nil, "3"},
	}
	for _, family := range []string{"application/grpc+json", "application/grpc-web+json"} {
		for _, c := range cases {
			t.Run(family+" "+c.name, func(t *testing.T) {
				headers := map[string]string{"Content-Type": family}
				path := startPath
				for k, v := range c.headers {
					if k == "path" {
						path = v
						continue
					}
					headers[k] = v
				}
				res, body := grpcCall(t, g, path, c.body, headers)
				if got := status(res, body); got != c.want || res.StatusCode != http.StatusOK {
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
	if n := len(g.table.list()); n != 0 {
		t.Errorf("%d processes are left running", n)
	}
}

func TestAnImmediateGRPCErrorIsTrailersOnly(t *testing.T) {
	g := startGateway(t, Options{})
	res, body := grpcCall(t, g, "/no.Such/Service", nil, nil)
	if res.Header.Get("Grpc-Status") != "12" || len(res.Trailer) != 0 || len(body) != 0 {
		t.Errorf("G8: header %v, trailer %v, %d bytes", res.Header, res.Trailer, len(body))
	}
}

func TestContentTypesOfGRPCThatAreNotServed(t *testing.T) {
	g := startGateway(t, Options{})
	for _, typ := range []string{"application/grpc+thrift", "application/grpc-web-text", "application/grpcish", "application/grpc-web+thrift"} {
		res, _ := grpcCall(t, g, startPath, nil, map[string]string{"Content-Type": typ})
		if res.StatusCode != http.StatusUnsupportedMediaType || !strings.Contains(res.Header.Get("Accept-Post"), "application/grpc+json") {
			t.Errorf("%s: %d, Accept-Post %q", typ, res.StatusCode, res.Header.Get("Accept-Post"))
		}
	}
	a := roundTrip(t, g, "POST", startPath, nil, "Content-Type: application/grpc")
	if a.status != http.StatusUnsupportedMediaType || strings.Contains(a.header.Get("Accept-Post"), "application/grpc,") {
		t.Errorf("gRPC over HTTP/1.1: %d, Accept-Post %q", a.status, a.header.Get("Accept-Post"))
	}
}

func TestAGRPCDeadlineKillsLikeAConnectOne(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	var begun []*stream
	for _, as := range []connect.ClientOption{connect.WithGRPC(), connect.WithGRPCWeb()} {
		c := processconnect.NewProcessClient(httpClient(t, g, "h2c"), g.URL(), as)
		// The deadline travels as a header alone: the client does not hurry the server.
		req := sh("echo so far; sleep 100")
		req.Header().Set("Grpc-Timeout", late+"m")
		begun = append(begun, begin(t, c, req))
	}
	for _, s := range begun {
		out, _, end, err := s.rest()
		if out != "so far\n" || end != nil || connect.CodeOf(err) != connect.CodeDeadlineExceeded {
			t.Errorf("%q, %v, %v", out, end, err)
		}
	}
	wantBooks(t, g, 2, 0, 0, 2, 0)
}

func TestALostHTTP2StreamLeavesTheProcessRunning(t *testing.T) {
	g := startGateway(t, Options{})
	c := processconnect.NewProcessClient(httpClient(t, g, "h2c"), g.URL(), connect.WithGRPC())
	s := begin(t, c, sh("read x; exit 5"))
	s.cancel()
	for s.Receive() {
	}
	again, err := c.Connect(deadline(t), connect.NewRequest(&envd.ConnectRequest{Process: byPID(s.pid)}))
	if err != nil || !again.Receive() {
		t.Fatal(err, again.Err())
	}
	if _, err := c.SendInput(deadline(t), stdin(s.pid, "\n")); err != nil {
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
	if _, err := httpClient(t, startGateway(t, Options{}), "h2-tls").Get(g.URL() + "/health"); err == nil {
		t.Error("a client without the certificate was served")
	}
}

func TestManyStreamsFitOnOneConnection(t *testing.T) {
	if testing.Short() {
		t.Skip("opens many streams")
	}
	const streams = 1000 // each costs the client of this test several goroutines
	g := startGateway(t, Options{})
	c := processconnect.NewProcessClient(httpClient(t, g, "h2c"), g.URL(), connect.WithGRPC())
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	errs := make(chan error, streams)
	for range streams {
		go func() { errs <- startsOne(ctx, c) }()
	}
	for range streams {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	if n := len(g.table.list()); n != streams {
		t.Errorf("%d processes, want %d", n, streams)
	}
	if maxStreams < 10_000 {
		t.Errorf("only %d streams are allowed", maxStreams)
	}
}

// startsOne starts a process and waits for its start event.
func startsOne(ctx context.Context, c processconnect.ProcessClient) error {
	s, err := c.Start(ctx, sh("read x"))
	if err != nil {
		return err
	}
	if !s.Receive() {
		return errors.Join(errors.New("no start event"), s.Err())
	}
	return nil
}
