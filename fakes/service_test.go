package fakes

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
)

func TestAProcessLivesAndDiesInEveryCodec(t *testing.T) {
	g := startGateway(t, Options{})
	for name, opts := range codecs() {
		t.Run(name, func(t *testing.T) {
			c, ctx := client(t, g, opts...), deadline(t)
			req := sh("read x; echo got $x; echo oops >&2; exit 3")
			tag := "tag of " + name
			req.Msg.Tag = &tag
			s := begin(t, c, req)

			list, err := c.List(ctx, connect.NewRequest(&envd.ListRequest{}))
			if err != nil || len(list.Msg.GetProcesses()) != 1 {
				t.Fatalf("list: %v, %v", list, err)
			}
			if p := list.Msg.GetProcesses()[0]; p.GetPid() != s.pid || p.GetTag() != tag || p.GetConfig().GetCmd() != "/bin/sh" {
				t.Errorf("listed %v", p)
			}
			in := c.StreamInput(ctx)
			for _, m := range []*envd.StreamInputRequest{
				{Event: &envd.StreamInputRequest_Start{Start: &envd.StreamInputRequest_StartEvent{Process: byPID(s.pid)}}},
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
			if _, err := c.SendInput(ctx, stdin(s.pid, "put\n")); err != nil {
				t.Errorf("SendInput: %v", err)
			}
			out, errs, end, err := s.rest()
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
	g := startGateway(t, Options{})
	c, ctx := client(t, g), deadline(t)
	live := begin(t, c, sh("sleep 100"))
	deaf := begin(t, c, connect.NewRequest(&envd.StartRequest{Process: &envd.ProcessConfig{Cmd: "sleep", Args: []string{"100"}}, Stdin: new(bool)}))
	nobody := uint32(4_000_000)
	noTag := "no such tag"
	update := func(pid uint32, pty *envd.PTY) error {
		_, err := c.Update(ctx, connect.NewRequest(&envd.UpdateRequest{Process: byPID(pid), Pty: pty}))
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
		{"signal to an unknown pid", sig(signal(nobody, envd.Signal_SIGNAL_SIGKILL)), connect.CodeNotFound},
		{"signal to an unknown tag", sig(connect.NewRequest(&envd.SendSignalRequest{Process: &envd.ProcessSelector{Selector: &envd.ProcessSelector_Tag{Tag: noTag}}, Signal: 9})), connect.CodeNotFound},
		{"unspecified signal", sig(signal(live.pid, 0)), connect.CodeInvalidArgument},
		{"another signal", sig(signal(live.pid, 2)), connect.CodeInvalidArgument},
		{"signal without selector", sig(connect.NewRequest(&envd.SendSignalRequest{Signal: 9})), connect.CodeInvalidArgument},
		{"signal with an empty selector", sig(connect.NewRequest(&envd.SendSignalRequest{Process: &envd.ProcessSelector{}, Signal: 9})), connect.CodeInvalidArgument},
		{"connect to an unknown pid", attach(byPID(nobody)), connect.CodeNotFound},
		{"connect without selector", attach(nil), connect.CodeInvalidArgument},
		{"input to an unknown pid", input(stdin(nobody, "x").Msg), connect.CodeNotFound},
		{"input without input", input(&envd.SendInputRequest{Process: byPID(live.pid)}), connect.CodeInvalidArgument},
		{"input for a PTY", input(&envd.SendInputRequest{Process: byPID(live.pid), Input: &envd.ProcessInput{Input: &envd.ProcessInput_Pty{}}}), connect.CodeFailedPrecondition},
		{"input without stdin", input(stdin(deaf.pid, "x").Msg), connect.CodeFailedPrecondition},
		{"close-stdin of an unknown pid", closeIn(byPID(nobody)), connect.CodeNotFound},
		{"close-stdin without stdin", closeIn(byPID(deaf.pid)), 0},
		{"close-stdin", closeIn(byPID(live.pid)), 0},
		{"close-stdin again", closeIn(byPID(live.pid)), 0},
		{"input after close-stdin", input(stdin(live.pid, "x").Msg), connect.CodeFailedPrecondition},
		{"update without a size", update(live.pid, nil), 0},
		{"update of what is no PTY", update(live.pid, &envd.PTY{}), connect.CodeFailedPrecondition},
		{"update of an unknown pid", update(nobody, nil), connect.CodeNotFound},
		{"stream input: data before start", sendStream(&envd.StreamInputRequest{Event: &envd.StreamInputRequest_Data{}}), connect.CodeInvalidArgument},
		{"stream input: no event", sendStream(&envd.StreamInputRequest{}), connect.CodeInvalidArgument},
		{"stream input: unknown pid", sendStream(&envd.StreamInputRequest{Event: &envd.StreamInputRequest_Start{Start: &envd.StreamInputRequest_StartEvent{Process: byPID(nobody)}}}), connect.CodeNotFound},
		{"kill", sig(signal(live.pid, envd.Signal_SIGNAL_SIGKILL)), 0},
		{"second kill", sig(signal(live.pid, envd.Signal_SIGNAL_SIGKILL)), connect.CodeNotFound},
		{"input after the kill", input(stdin(live.pid, "x").Msg), connect.CodeNotFound},
		{"update after the kill", update(live.pid, nil), connect.CodeNotFound},
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
	if _, _, end, err := live.rest(); err != nil || end.GetStatus() != "signal: killed" || end.GetExitCode() != -1 || end.GetExited() {
		t.Errorf("end of the killed one: %v, %v", end, err)
	}
	wantBooks(t, g, 2, 0, 0, 1, 1)
}

func TestOutputOfThreeHundredKilobytesIsWholeAtExit(t *testing.T) {
	g := startGateway(t, Options{})
	s := begin(t, client(t, g), sh(`head -c 300000 /dev/zero | tr '\0' x; printf end`))
	out, _, end, err := s.rest()
	if err != nil || end.GetStatus() != "exit status 0" {
		t.Errorf("end %v, %v", end, err)
	}
	if want := strings.Repeat("x", 300_000) + "end"; out != want {
		t.Errorf("%d bytes, want %d", len(out), len(want))
	}
}

func TestAThousandShortCommandsAllEnd(t *testing.T) {
	g := startGateway(t, Options{})
	c := client(t, g)
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
	g := startGateway(t, Options{})
	c, ctx := client(t, g), deadline(t)
	s := begin(t, c, sh("read x; echo $x"))
	s.cancel()
	_ = s.Close()
	again, err := c.Connect(ctx, connect.NewRequest(&envd.ConnectRequest{Process: byPID(s.pid)}))
	if err != nil || !again.Receive() || again.Msg().GetEvent().GetStart().GetPid() != s.pid {
		t.Fatalf("connect: %v, %v", again.Msg(), again.Err())
	}
	if _, err := c.SendInput(ctx, stdin(s.pid, "still here\n")); err != nil {
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
	a := roundTrip(t, g, "POST", startPath, envelope(0, shell("echo before; sleep 100")), streaming, "Connect-Timeout-Ms: "+late)
	events := a.events(t)
	if a.code != "deadline_exceeded" || len(events) != 2 || events[1]["data"] == nil {
		t.Fatalf("error %q after %v; want start, data, deadline_exceeded", a.code, events)
	}
	pid := events[0]["start"].(map[string]any)["pid"]
	b := roundTrip(t, g, "POST", "/process.Process/Connect", envelope(0, fmt.Sprintf(`{"process":{"pid":%v}}`, pid)), streaming)
	events = b.events(t)
	if len(events) != 2 || events[1]["end"].(map[string]any)["status"] != "signal: killed" || b.code != "" {
		t.Errorf("connect: %v, %q", events, b.code)
	}
	wantBooks(t, g, 1, 0, 0, 1, 0)
}

func TestInputThatNobodyReadsBlocksOnlyItself(t *testing.T) {
	g := startGateway(t, Options{})
	c, ctx := client(t, g), deadline(t)
	s := begin(t, c, sh("sleep 100; true"))
	blocked := make(chan error, 1)
	go func() {
		_, err := c.SendInput(ctx, stdin(s.pid, strings.Repeat("x", 1<<20)))
		blocked <- err
	}()
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if _, err := c.SendInput(short, stdin(s.pid, strings.Repeat("y", 1<<20))); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
		t.Errorf("with a timeout: %v, want deadline_exceeded", err)
	}
	if _, err := c.List(ctx, connect.NewRequest(&envd.ListRequest{})); err != nil {
		t.Errorf("list: %v", err)
	}
	if _, err := c.SendSignal(ctx, signal(s.pid, envd.Signal_SIGNAL_SIGKILL)); err != nil {
		t.Errorf("kill: %v", err)
	}
	if err := <-blocked; connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("the blocked call: %v, want not_found", err)
	}
}

func TestAReaderThatStopsDoesNotStopTheOthers(t *testing.T) {
	g := startGateway(t, Options{})
	const total = 24 << 20
	stuck := dial(t, g) // never reads, and no more than this waits for it in the kernel
	if err := stuck.Conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	stuck.request("POST", startPath, envelope(0, `{"process":{"cmd":"/bin/sh","args":["-c","read x; head -c `+strconv.Itoa(total)+` /dev/zero"]}}`), streaming)
	c := client(t, g)
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience) // it is much to encode
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
	st, err := c.Connect(ctx, connect.NewRequest(&envd.ConnectRequest{Process: byPID(pid)}))
	if err != nil || !st.Receive() {
		t.Fatal(err)
	}
	if _, err := c.SendInput(ctx, stdin(pid, "\n")); err != nil {
		t.Fatal(err)
	}
	got := 0
	for st.Receive() {
		got += len(st.Msg().GetEvent().GetData().GetStdout())
	}
	if got != total || st.Err() != nil {
		t.Errorf("the reader that reads got %d of %d bytes, %v", got, total, st.Err())
	}
	if err := stuck.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if a := stuck.answer("POST"); a.code != "resource_exhausted" {
		t.Errorf("the other one, reading at last: %q, want resource_exhausted", a.code)
	}
}

func TestKeepalivesComeWhileNothingElseDoes(t *testing.T) {
	g := startGateway(t, Options{ClockScale: 100})
	c := client(t, g)
	req := sh("sleep 100; true")
	req.Header().Set("Keepalive-Ping-Interval", "1")
	s := begin(t, c, req)
	for range 3 {
		if !s.Receive() || s.Msg().GetEvent().GetKeepalive() == nil {
			t.Fatalf("%v, %v; want a keepalive", s.Msg(), s.Err())
		}
	}
}

// TestAConnectionIsUsedOnAfterAnAnswerThatCameEarly repeats what made net/http
// read the next request as the body of this one.
func TestAConnectionIsUsedOnAfterAnAnswerThatCameEarly(t *testing.T) {
	g := startGateway(t, Options{})
	c := dial(t, g)
	unknown := `{"start":{"process":{"pid":999999}}}`
	for range 20 {
		body := join(envelope(0, unknown), envelope(0, `{"keepalive":{}}`), envelope(0, `{"keepalive":{}}`))
		c.request("POST", "/process.Process/StreamInput", body, streaming)
		if a := c.answer("POST"); a.code != "not_found" {
			t.Fatalf("%q, want not_found", a.body)
		}
		c.request("POST", listPath, []byte("{}"), unaryJSON)
		if a := c.answer("POST"); a.status != 200 {
			t.Fatalf("the next request: %d", a.status)
		}
	}
}
