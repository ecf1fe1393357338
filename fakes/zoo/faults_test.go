package zoo

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"assay/fakes/gateway"

	"assay/fakes/gatewaytest"

	"connectrpc.com/connect"

	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
	"assay/internal/testkit"
)

func TestFaultsOfStdinCloseIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault       string
		absent, yes string
	}{
		{"stdin-default-closed", "end\n", "got it\nend\n"},
		{"stdin-never-open", "end\n", "end\n"},
		{"", "got it\nend\n", "got it\nend\n"},
	} {
		var o Options
		if c.fault != "" {
			o.Faults = []string{c.fault}
		}
		cl := gatewaytest.Client(t, startGateway(t, o))
		for want, stdinField := range map[string]*bool{"absent": nil, "yes": new(true)} {
			req := gatewaytest.Sh("read x && echo got $x; echo end")
			req.Msg.Stdin = stdinField
			s := gatewaytest.Begin(t, cl, req)
			_, sent := cl.SendInput(gatewaytest.Deadline(t), gatewaytest.Stdin(s.PID, "it\n"))
			out, _, _, err := s.Rest()
			if text := map[string]string{"absent": c.absent, "yes": c.yes}[want]; out != text || err != nil {
				t.Errorf("%q, stdin %s: %q %v (input: %v), want %q", c.fault, want, out, err, sent, text)
			}
		}
	}
}

func TestFaultsOfTheBooksShowOnMetrics(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"labels-swapped":     `active 0, error 2, killed 0, ok 1`,
		"gauge-one-too-high": `active 1, error 1, killed 0, ok 2`,
	} {
		g := startGateway(t, Options{Faults: []string{fault}})
		for _, script := range []string{"true", "true", "false"} {
			if a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell(script)), gatewaytest.Streaming); len(a.Events(t)) != 2 {
				t.Fatalf("%s", a.Body)
			}
		}
		body := string(gatewaytest.RoundTrip(t, g, "GET", "/metrics", nil).Body)
		value := func(series string) string {
			_, rest, _ := strings.Cut(body, "\ncoppice_commands_"+series+" ")
			v, _, _ := strings.Cut(rest, "\n")
			return v
		}
		got := fmt.Sprintf("active %s, error %s, killed %s, ok %s", value("active"), value(`finished_total{status="error"}`),
			value(`finished_total{status="killed"}`), value(`finished_total{status="ok"}`))
		if got != want {
			t.Errorf("%s: %s, want %s", fault, got, want)
		}
	}
}

func TestFaultStartRefusedRefusesOneInTen(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Faults: []string{"start-refused"}, Seed: 3})
	refused := 0
	for range 2 * seldom {
		a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("true")), gatewaytest.Streaming)
		if a.Code == "invalid_argument" && len(a.Frames) == 1 && strings.Contains(a.Text, "temporarily") {
			refused++
		} else if a.Code != "" {
			t.Errorf("%q %s", a.Code, a.Body)
		}
	}
	if refused != 2 {
		t.Errorf("%d of %d Starts were refused, want 2", refused, 2*seldom)
	}
}

func TestFaultStartNeverToldIsSilentUntilTheCallEnds(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Faults: []string{"start-never-told"}, Seed: seldom - 1})
	for i := range seldom + 1 {
		silent := i%seldom == 0
		a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("true")), gatewaytest.Streaming, "Connect-Timeout-Ms: "+gatewaytest.Late)
		if silent && (a.Code != "deadline_exceeded" || len(a.Frames) != 1) || !silent && len(a.Events(t)) != 2 {
			t.Errorf("Start %d: %q %s", i, a.Code, a.Body)
		}
	}
	if n := len(listed(t, gatewaytest.Client(t, g))); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	// A client that disconnects and a gateway that closes also end such a stream.
	for range seldom {
		c := gatewaytest.Dial(t, g)
		c.Request("POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("true")), gatewaytest.Streaming)
		_ = c.Close()
	}
}

func TestFaultOrphanWedgesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, box, done := boxed(t, Options{Faults: []string{"orphan-wedges-end"}})
		for i, holders := range []int{0, 1} {
			s := gatewaytest.Begin(t, c, gatewaytest.Sh(""))
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _, _, _ = s.Rest()
			}()
			box.At(i).Hold(holders)
			box.At(i).Exit(virtual.Status{})
			testkit.Advance(2 * orphanGrace)
			if holders > 0 {
				box.At(i).LetGo()
			}
			testkit.Advance(gatewaytest.Patience / 2)
			over := false
			select {
			case <-ended:
				over = true
			default:
			}
			if over != (holders == 0) || len(listed(t, c)) != 0 {
				t.Errorf("%d holders: ended %v, %d listed", holders, over, len(listed(t, c)))
			}
		}
		done()
	})
}

func TestFaultSlowReaderDrops(t *testing.T) {
	t.Parallel()
	f := dropsBehind(anyFanout{})
	for backlog, want := range map[int]int{0: 1, dropBacklog: 1, dropBacklog + 1: 0} {
		if n := f.Copies(gateway.Reader{Backlog: backlog}, gateway.Chunk{}); n != want {
			t.Errorf("a reader that is %d bytes behind gets a chunk %d times, want %d", backlog, n, want)
		}
	}
	slow, quick := gateway.Reader{Backlog: dropBacklog}, gateway.Reader{Backlog: dropWater - 1}
	if f.Waits(slices.Values([]gateway.Reader{slow, quick}), false) {
		t.Error("a process waits although one reader is quick")
	}
	if !f.Waits(slices.Values([]gateway.Reader{slow}), false) || f.Waits(slices.Values([]gateway.Reader{slow}), true) {
		t.Error("a process waits for a single slow reader, and not for a stalled one")
	}
}

func TestFaultExpiredTimeoutStarts(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Faults: []string{"expired-timeout-starts"}})
	a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("sleep 100")), gatewaytest.Streaming, "Connect-Timeout-Ms: 0")
	if n := len(listed(t, gatewaytest.Client(t, g))); a.Code != "deadline_exceeded" || len(a.Frames) != 1 || n != 1 {
		t.Errorf("%q, %d frames, %d processes", a.Code, len(a.Frames), n)
	}
}

func TestVariantsOfASignalsCodeKeepItsName(t *testing.T) {
	t.Parallel()
	for id, base := range map[string]int32{"signal-code-137": 128, "signal-code-9": 0} {
		c := gatewaytest.Client(t, startGateway(t, Options{Variants: []string{id}}))
		for sig, want := range map[envd.Signal]syscall.Signal{envd.Signal_SIGNAL_SIGKILL: syscall.SIGKILL, envd.Signal_SIGNAL_SIGTERM: syscall.SIGTERM} {
			s := gatewaytest.Begin(t, c, gatewaytest.Sh("read x"))
			if _, err := c.SendSignal(gatewaytest.Deadline(t), gatewaytest.Signal(s.PID, sig)); err != nil {
				t.Fatal(err)
			}
			_, _, end, err := s.Rest()
			if end.GetExitCode() != base+int32(want) || end.GetExited() || end.GetStatus() != "signal: "+want.String() || err != nil {
				t.Errorf("%s: %v: %v %v", id, want, end, err)
			}
		}
		if _, _, end, _ := gatewaytest.Begin(t, c, gatewaytest.Sh("exit 7")).Rest(); end.GetExitCode() != 7 {
			t.Errorf("%s: an exit: %v", id, end)
		}
	}
}

func TestVariantUpdateIgnored(t *testing.T) {
	t.Parallel()
	c := gatewaytest.Client(t, startGateway(t, Options{Variants: []string{"update-ignored"}}))
	s := gatewaytest.Begin(t, c, gatewaytest.Sh("read x"))
	size := &envd.PTY{Size: &envd.PTY_Size{Cols: 80, Rows: 24}}
	if _, err := c.Update(gatewaytest.Deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: gatewaytest.ByPID(s.PID), Pty: size})); err != nil {
		t.Error(err)
	}
	_, err := c.Update(gatewaytest.Deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: gatewaytest.ByPID(1), Pty: size}))
	gatewaytest.WantCode(t, "nobody", err, connect.CodeNotFound)
}
