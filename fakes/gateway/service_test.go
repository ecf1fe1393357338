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

func TestAProcessLivesAndDiesInEveryCodec(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	for name, opts := range gatewaytest.Codecs() {
		t.Run(name, func(t *testing.T) {
			c, ctx := gatewaytest.Client(t, g, opts...), gatewaytest.Deadline(t)
			req := gatewaytest.Sh("read x; echo got $x; echo oops >&2; exit 3")
			tag := "tag of " + name
			req.Msg.Tag = &tag
			s := gatewaytest.Begin(t, c, req)

			list, err := c.List(ctx, connect.NewRequest(&envd.ListRequest{}))
			if err != nil || len(list.Msg.GetProcesses()) != 1 {
				t.Fatalf("list: %v, %v", list, err)
			}
			if p := list.Msg.GetProcesses()[0]; p.GetPid() != s.PID || p.GetTag() != tag || p.GetConfig().GetCmd() != "/bin/sh" {
				t.Errorf("listed %v", p)
			}
			in := c.StreamInput(ctx)
			for _, m := range []*envd.StreamInputRequest{
				{Event: &envd.StreamInputRequest_Start{Start: &envd.StreamInputRequest_StartEvent{Process: gatewaytest.ByPID(s.PID)}}},
				{Event: &envd.StreamInputRequest_Keepalive{Keepalive: &envd.StreamInputRequest_KeepAlive{}}},
				{Event: &envd.StreamInputRequest_Data{Data: &envd.StreamInputRequest_DataEvent{Input: &envd.ProcessInput{Input: &envd.ProcessInput_Stdin{Stdin: []byte("in")}}}}},
			} {
				if err := in.Send(m); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := in.CloseAndReceive(); err != nil {
				t.Errorf("StreamInput: %v", err)
			}
			if _, err := c.SendInput(ctx, gatewaytest.Stdin(s.PID, "put\n")); err != nil {
				t.Errorf("SendInput: %v", err)
			}
			out, errs, end, err := s.Rest()
			if out != "got input\n" || errs != "oops\n" || err != nil {
				t.Errorf("stdout %q, stderr %q, %v", out, errs, err)
			}
			if end.GetExitCode() != 3 || !end.GetExited() || end.GetStatus() != "exit status 3" || end.GetError() != "exit status 3" {
				t.Errorf("end %v", end)
			}
		})
	}
	wantBooks(t, g, 4, 0, 4, 0, 0)
}

func TestErrorsHaveTheCodesOfTheirCauses(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c, ctx := gatewaytest.Client(t, g), gatewaytest.Deadline(t)
	live := gatewaytest.Begin(t, c, gatewaytest.Sh("sleep 100"))
	deaf := gatewaytest.Begin(t, c, connect.NewRequest(&envd.StartRequest{Process: &envd.ProcessConfig{Cmd: "sleep", Args: []string{"100"}}, Stdin: new(bool)}))
	nobody := uint32(4_000_000)
	noTag := "no such tag"
	update := func(pid uint32, pty *envd.PTY) error {
		_, err := c.Update(ctx, connect.NewRequest(&envd.UpdateRequest{Process: gatewaytest.ByPID(pid), Pty: pty}))
		return err
	}
	sig := func(r *connect.Request[envd.SendSignalRequest]) error { _, err := c.SendSignal(ctx, r); return err }
	input := func(r *envd.SendInputRequest) error {
		_, err := c.SendInput(ctx, connect.NewRequest(r))
		return err
	}
	closeIn := func(s *envd.ProcessSelector) error {
		_, err := c.CloseStdin(ctx, connect.NewRequest(&envd.CloseStdinRequest{Process: s}))
		return err
	}
	attach := func(s *envd.ProcessSelector) error {
		st, err := c.Connect(ctx, connect.NewRequest(&envd.ConnectRequest{Process: s}))
		if err != nil {
			return err
		}
		st.Receive()
		return st.Err()
	}
	sendStream := func(m *envd.StreamInputRequest) error {
		in := c.StreamInput(ctx)
		_ = in.Send(m)
		_, err := in.CloseAndReceive()
		return err
	}
	cases := []struct {
		name string
		err  error
		want connect.Code
	}{
		{"signal to an unknown pid", sig(gatewaytest.Signal(nobody, envd.Signal_SIGNAL_SIGKILL)), connect.CodeNotFound},
		{"signal to an unknown tag", sig(connect.NewRequest(&envd.SendSignalRequest{Process: &envd.ProcessSelector{Selector: &envd.ProcessSelector_Tag{Tag: noTag}}, Signal: 9})), connect.CodeNotFound},
		{"unspecified signal", sig(gatewaytest.Signal(live.PID, 0)), connect.CodeInvalidArgument},
		{"another signal", sig(gatewaytest.Signal(live.PID, 2)), connect.CodeInvalidArgument},
		{"signal without selector", sig(connect.NewRequest(&envd.SendSignalRequest{Signal: 9})), connect.CodeInvalidArgument},
		{"signal with an empty selector", sig(connect.NewRequest(&envd.SendSignalRequest{Process: &envd.ProcessSelector{}, Signal: 9})), connect.CodeInvalidArgument},
		{"connect to an unknown pid", attach(gatewaytest.ByPID(nobody)), connect.CodeNotFound},
		{"connect without selector", attach(nil), connect.CodeInvalidArgument},
		{"input to an unknown pid", input(gatewaytest.Stdin(nobody, "x").Msg), connect.CodeNotFound},
		{"input without input", input(&envd.SendInputRequest{Process: gatewaytest.ByPID(live.PID)}), connect.CodeInvalidArgument},
		{"input for a PTY", input(&envd.SendInputRequest{Process: gatewaytest.ByPID(live.PID), Input: &envd.ProcessInput{Input: &envd.ProcessInput_Pty{}}}), connect.CodeFailedPrecondition},
		{"input without stdin", input(gatewaytest.Stdin(deaf.PID, "x").Msg), connect.CodeFailedPrecondition},
		{"close-stdin of an unknown pid", closeIn(gatewaytest.ByPID(nobody)), connect.CodeNotFound},
		{"close-stdin without stdin", closeIn(gatewaytest.ByPID(deaf.PID)), 0},
		{"close-stdin", closeIn(gatewaytest.ByPID(live.PID)), 0},
		{"close-stdin again", closeIn(gatewaytest.ByPID(live.PID)), 0},
		{"input after close-stdin", input(gatewaytest.Stdin(live.PID, "x").Msg), connect.CodeFailedPrecondition},
		{"update without a size", update(live.PID, nil), 0},
		{"update without a PTY", update(live.PID, &envd.PTY{}), connect.CodeFailedPrecondition},
		{"update of an unknown pid", update(nobody, nil), connect.CodeNotFound},
		{"stream input: data before start", sendStream(&envd.StreamInputRequest{Event: &envd.StreamInputRequest_Data{}}), connect.CodeInvalidArgument},
		{"stream input: no event", sendStream(&envd.StreamInputRequest{}), connect.CodeInvalidArgument},
		{"stream input: unknown pid", sendStream(&envd.StreamInputRequest{Event: &envd.StreamInputRequest_Start{Start: &envd.StreamInputRequest_StartEvent{Process: gatewaytest.ByPID(nobody)}}}), connect.CodeNotFound},
		{"kill", sig(gatewaytest.Signal(live.PID, envd.Signal_SIGNAL_SIGKILL)), 0},
		{"second kill", sig(gatewaytest.Signal(live.PID, envd.Signal_SIGNAL_SIGKILL)), connect.CodeNotFound},
		{"input after the kill", input(gatewaytest.Stdin(live.PID, "x").Msg), connect.CodeNotFound},
		{"update after the kill", update(live.PID, nil), connect.CodeNotFound},
	}
	for _, c := range cases {
		var got connect.Code
		if c.err != nil {
			got = connect.CodeOf(c.err)
		}
		if got != c.want {
			t.Errorf("%s: %v, want code %v", c.name, c.err, c.want)
		}
	}
	if _, _, end, err := live.Rest(); err != nil || end.GetStatus() != "signal: killed" || end.GetExitCode() != -1 || end.GetExited() {
		t.Errorf("end of the killed one: %v, %v", end, err)
	}
	wantBooks(t, g, 2, 0, 0, 1, 1)
}

func TestOutputOfThreeHundredKilobytesIsWholeAtExit(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	s := gatewaytest.Begin(t, gatewaytest.Client(t, g), gatewaytest.Sh(`head -c 300000 /dev/zero | tr '\0' x; printf end`))
	out, _, end, err := s.Rest()
	if err != nil || end.GetStatus() != "exit status 0" {
		t.Errorf("end %v, %v", end, err)
	}
	if want := strings.Repeat("x", 300_000) + "end"; out != want {
		t.Errorf("%d bytes, want %d", len(out), len(want))
	}
}

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

func TestADisconnectLeavesTheProcessRunning(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c, ctx := gatewaytest.Client(t, g), gatewaytest.Deadline(t)
	s := gatewaytest.Begin(t, c, gatewaytest.Sh("read x; echo $x"))
	s.Cancel()
	_ = s.Close()
	again, err := c.Connect(ctx, connect.NewRequest(&envd.ConnectRequest{Process: gatewaytest.ByPID(s.PID)}))
	if err != nil || !again.Receive() || again.Msg().GetEvent().GetStart().GetPid() != s.PID {
		t.Fatalf("connect: %v, %v", again.Msg(), again.Err())
	}
	if _, err := c.SendInput(ctx, gatewaytest.Stdin(s.PID, "still here\n")); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for again.Receive() {
		out.Write(again.Msg().GetEvent().GetData().GetStdout())
	}
	if out.String() != "still here\n" || again.Err() != nil {
		t.Errorf("%q, %v", out.String(), again.Err())
	}
	wantBooks(t, g, 1, 1, 0, 0, 0)
}

func TestATimeoutKillsWithAnErrorAndConnectStillShowsTheEnd(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("echo before; sleep 100")), gatewaytest.Streaming, "Connect-Timeout-Ms: "+gatewaytest.Late)
	events := a.Events(t)
	if a.Code != "deadline_exceeded" || len(events) != 2 || events[1]["data"] == nil {
		t.Fatalf("error %q after %v; want start, data, deadline_exceeded", a.Code, events)
	}
	pid := events[0]["start"].(map[string]any)["pid"]
	b := gatewaytest.RoundTrip(t, g, "POST", "/process.Process/Connect", gatewaytest.Envelope(0, fmt.Sprintf(`{"process":{"pid":%v}}`, pid)), gatewaytest.Streaming)
	events = b.Events(t)
	if len(events) != 2 || events[1]["end"].(map[string]any)["status"] != "signal: killed" || b.Code != "" {
		t.Errorf("connect: %v, %q", events, b.Code)
	}
	wantBooks(t, g, 1, 0, 0, 1, 0)
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

func TestKeepalivesComeWhileNothingElseDoes(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{ClockScale: 100})
	c := gatewaytest.Client(t, g)
	req := gatewaytest.Sh("sleep 100; true")
	req.Header().Set("Keepalive-Ping-Interval", "1")
	s := gatewaytest.Begin(t, c, req)
	for range 3 {
		if !s.Receive() || s.Msg().GetEvent().GetKeepalive() == nil {
			t.Fatalf("%v, %v; want a keepalive", s.Msg(), s.Err())
		}
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
