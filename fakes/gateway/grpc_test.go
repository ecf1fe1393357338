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
			for codec, opts := range codecs() {
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

// codecs are the two codecs, plain and compressed.
func codecs() map[string][]connect.ClientOption {
	return map[string][]connect.ClientOption{
		"proto":      nil,
		"json":       {connect.WithProtoJSON()},
		"proto gzip": {connect.WithSendGzip()},
		"json gzip":  {connect.WithProtoJSON(), connect.WithSendGzip()},
	}
}
