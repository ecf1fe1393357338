package gatewaytest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

// Client is a connect-go client that keeps no connection after the test.
func Client(t *testing.T, g Gateway, opts ...connect.ClientOption) processconnect.ProcessClient {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return processconnect.NewProcessClient(&http.Client{Transport: transport}, g.URL(), opts...)
}

// Deadline returns a context for one test.
func Deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Sh returns a Start request for a script. It carries no deadline of the
// client.
func Sh(script string) *connect.Request[envd.StartRequest] {
	return connect.NewRequest(&envd.StartRequest{Process: &envd.ProcessConfig{Cmd: "/bin/sh", Args: []string{"-c", script}}})
}

// Stream is a Start call whose start event has been read.
type Stream struct {
	*connect.ServerStreamForClient[envd.StartResponse]
	PID    uint32
	Cancel context.CancelFunc
}

// Begin starts a script without a Connect-Timeout-Ms and reads its start event.
func Begin(t *testing.T, c processconnect.ProcessClient, req *connect.Request[envd.StartRequest]) *Stream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	timer := time.AfterFunc(Patience, cancel)
	t.Cleanup(func() { timer.Stop(); cancel() })
	s, err := c.Start(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Receive() {
		t.Fatalf("no start event: %v", s.Err())
	}
	start := s.Msg().GetEvent().GetStart()
	if start == nil {
		t.Fatalf("the first event is %v, want start", s.Msg())
	}
	return &Stream{s, start.GetPid(), cancel}
}

// Rest reads a stream to its end.
func (s *Stream) Rest() (stdout, stderr string, end *envd.ProcessEvent_EndEvent, err error) {
	var out, errs strings.Builder
	for s.Receive() {
		switch e := s.Msg().GetEvent().GetEvent().(type) {
		case *envd.ProcessEvent_Data:
			out.Write(e.Data.GetStdout())
			errs.Write(e.Data.GetStderr())
		case *envd.ProcessEvent_End:
			end = e.End
		}
	}
	return out.String(), errs.String(), end, s.Err()
}

// Until reads terminal output until it contains text.
func (s *Stream) Until(t *testing.T, text string) {
	t.Helper()
	var out strings.Builder
	for !strings.Contains(out.String(), text) {
		if !s.Receive() {
			t.Fatalf("the stream ended (%v) after %q, want %q", s.Err(), out.String(), text)
		}
		out.Write(s.Msg().GetEvent().GetData().GetPty())
	}
}

// ByPID selects a process.
func ByPID(pid uint32) *envd.ProcessSelector {
	return &envd.ProcessSelector{Selector: &envd.ProcessSelector_Pid{Pid: pid}}
}

// Signal returns a SendSignal request.
func Signal(pid uint32, s envd.Signal) *connect.Request[envd.SendSignalRequest] {
	return connect.NewRequest(&envd.SendSignalRequest{Process: ByPID(pid), Signal: s})
}

// Stdin returns a SendInput request.
func Stdin(pid uint32, data string) *connect.Request[envd.SendInputRequest] {
	return connect.NewRequest(&envd.SendInputRequest{Process: ByPID(pid), Input: &envd.ProcessInput{Input: &envd.ProcessInput_Stdin{Stdin: []byte(data)}}})
}

// HTTPClient returns a client for a version of HTTP: 1.1, h2c or h2-tls.
func HTTPClient(t *testing.T, g Gateway, version string) *http.Client {
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
			t.Fatal("the gateway's certificate is not PEM")
		}
		tr.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// WantCode compares the code of an error.
func WantCode(t *testing.T, what string, err error, code connect.Code) {
	t.Helper()
	if connect.CodeOf(err) != code {
		t.Errorf("%s: %v, want %v", what, err, code)
	}
}
