package gateway

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/fakes/gatewaytest"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
)

// uncompressed is a client that wants no compression, which takes most of the time where there is much to compress.
var uncompressed = connect.WithAcceptCompression("gzip", nil, nil)

func TestAThousandShortCommandsAllEnd(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := gatewaytest.Client(t, g, uncompressed)
	const n, workers = 1000, 8
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range n / workers {
				st, err := c.Start(context.Background(), connect.NewRequest(&envd.StartRequest{Process: &envd.ProcessConfig{Cmd: "true"}}))
				if err != nil {
					t.Error(err)
					return
				}
				var seen []string
				for st.Receive() {
					seen = append(seen, strings.Fields(strings.ReplaceAll(st.Msg().GetEvent().String(), ":", " "))[0])
				}
				if fmt.Sprint(seen) != "[start end]" || st.Err() != nil {
					t.Errorf("events %v, %v", seen, st.Err())
				}
			}
		})
	}
	all.Wait()
	wantBooks(t, g, n, n, 0, 0, 0)
}

func TestInputThatNobodyReadsBlocksOnlyItself(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c, ctx := gatewaytest.Client(t, g), gatewaytest.Deadline(t)
	s := gatewaytest.Begin(t, c, gatewaytest.Sh("sleep 100; true"))
	blocked := make(chan error, 1)
	go func() {
		_, err := c.SendInput(ctx, gatewaytest.Stdin(s.PID, strings.Repeat("x", 1<<20)))
		blocked <- err
	}()
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if _, err := c.SendInput(short, gatewaytest.Stdin(s.PID, strings.Repeat("y", 1<<20))); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
		t.Errorf("with a timeout: %v, want deadline_exceeded", err)
	}
	if _, err := c.List(ctx, connect.NewRequest(&envd.ListRequest{})); err != nil {
		t.Errorf("list: %v", err)
	}
	if _, err := c.SendSignal(ctx, gatewaytest.Signal(s.PID, envd.Signal_SIGNAL_SIGKILL)); err != nil {
		t.Errorf("kill: %v", err)
	}
	if err := <-blocked; connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("the blocked call: %v, want not_found", err)
	}
}

func TestAReaderThatStopsDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	const total = 16 << 20
	stuck := gatewaytest.Dial(t, g) // never reads; the kernel buffers no more than this
	if err := stuck.Conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	stuck.Request("POST", gatewaytest.StartPath, gatewaytest.Envelope(0, `{"process":{"cmd":"/bin/sh","args":["-c","read x; head -c `+strconv.Itoa(total)+` /dev/zero"]}}`), gatewaytest.Streaming)
	c := gatewaytest.Client(t, g, uncompressed)
	ctx, cancel := context.WithTimeout(t.Context(), 3*gatewaytest.Patience) // much data to encode
	defer cancel()
	var pid uint32
	for pid == 0 {
		list, err := c.List(ctx, connect.NewRequest(&envd.ListRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list.Msg.GetProcesses() {
			pid = p.GetPid()
		}
	}
	st, err := c.Connect(ctx, connect.NewRequest(&envd.ConnectRequest{Process: gatewaytest.ByPID(pid)}))
	if err != nil || !st.Receive() {
		t.Fatal(err)
	}
	if _, err := c.SendInput(ctx, gatewaytest.Stdin(pid, "\n")); err != nil {
		t.Fatal(err)
	}
	got := 0
	for st.Receive() {
		got += len(st.Msg().GetEvent().GetData().GetStdout())
	}
	if got != total || st.Err() != nil {
		t.Errorf("the reader that reads got %d of %d bytes, %v", got, total, st.Err())
	}
	if err := stuck.SetDeadline(time.Now().Add(gatewaytest.Patience)); err != nil {
		t.Fatal(err)
	}
	if a := stuck.Answer("POST"); a.Code != "resource_exhausted" {
		t.Errorf("the other one, reading at last: %q, want resource_exhausted", a.Code)
	}
}

// TestAConnectionIsUsedOnAfterAnAnswerThatCameEarly repeats requests that made
// net/http read the next request as the body of the current one.
func TestAConnectionIsUsedOnAfterAnAnswerThatCameEarly(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := gatewaytest.Dial(t, g)
	unknown := `{"start":{"process":{"pid":999999}}}`
	for range 20 {
		body := join(gatewaytest.Envelope(0, unknown), gatewaytest.Envelope(0, `{"keepalive":{}}`), gatewaytest.Envelope(0, `{"keepalive":{}}`))
		c.Request("POST", "/process.Process/StreamInput", body, gatewaytest.Streaming)
		if a := c.Answer("POST"); a.Code != "not_found" {
			t.Fatalf("%q, want not_found", a.Body)
		}
		c.Request("POST", gatewaytest.ListPath, []byte("{}"), gatewaytest.UnaryJSON)
		if a := c.Answer("POST"); a.Status != 200 {
			t.Fatalf("the next request: %d", a.Status)
		}
	}
}
