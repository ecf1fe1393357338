package fakes

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

// client is a connect-go client that keeps no connection after the test.
func client(t *testing.T, g *Gateway, opts ...connect.ClientOption) processconnect.ProcessClient {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return processconnect.NewProcessClient(&http.Client{Transport: transport}, g.URL(), opts...)
}

// deadline is a context for one test.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// sh is a Start request for a script. It carries no deadline of the client.
func sh(script string) *connect.Request[envd.StartRequest] {
	return connect.NewRequest(&envd.StartRequest{Process: &envd.ProcessConfig{Cmd: "/bin/sh", Args: []string{"-c", script}}})
}

// stream is a Start that was read up to its start event.
type stream struct {
	*connect.ServerStreamForClient[envd.StartResponse]
	pid    uint32
	cancel context.CancelFunc
}

// begin starts a script without a Connect-Timeout-Ms and reads its start event.
func begin(t *testing.T, c processconnect.ProcessClient, req *connect.Request[envd.StartRequest]) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	timer := time.AfterFunc(patience, cancel)
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
	return &stream{s, start.GetPid(), cancel}
}

// rest reads a stream to its end.
func (s *stream) rest() (stdout, stderr string, end *envd.ProcessEvent_EndEvent, err error) {
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

func byPID(pid uint32) *envd.ProcessSelector {
	return &envd.ProcessSelector{Selector: &envd.ProcessSelector_Pid{Pid: pid}}
}

func signal(pid uint32, s envd.Signal) *connect.Request[envd.SendSignalRequest] {
	return connect.NewRequest(&envd.SendSignalRequest{Process: byPID(pid), Signal: s})
}

func stdin(pid uint32, data string) *connect.Request[envd.SendInputRequest] {
	return connect.NewRequest(&envd.SendInputRequest{Process: byPID(pid), Input: &envd.ProcessInput{Input: &envd.ProcessInput_Stdin{Stdin: []byte(data)}}})
}

// wantBooks compares the counters of a gateway.
func wantBooks(t *testing.T, g *Gateway, started, ok, failed, killed, active int) {
	t.Helper()
	wantTally(t, g.table, g.books, started, ok, failed, killed, active)
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
