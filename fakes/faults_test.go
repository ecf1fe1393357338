package fakes

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
)

func TestFaultsOfStdinCloseIt(t *testing.T) {
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
		cl := client(t, startGateway(t, o))
		for want, stdinField := range map[string]*bool{"absent": nil, "yes": new(true)} {
			req := sh("read x && echo got $x; echo end")
			req.Msg.Stdin = stdinField
			s := begin(t, cl, req)
			_, sent := cl.SendInput(deadline(t), stdin(s.pid, "it\n"))
			out, _, _, err := s.rest()
			if text := map[string]string{"absent": c.absent, "yes": c.yes}[want]; out != text || err != nil {
				t.Errorf("%q, stdin %s: %q %v (input: %v), want %q", c.fault, want, out, err, sent, text)
			}
		}
	}
}

func TestFaultsOfTheBooksShowOnMetrics(t *testing.T) {
	for fault, want := range map[string]string{
		"labels-swapped":     `active 0, error 2, killed 0, ok 1`,
		"gauge-one-too-high": `active 1, error 1, killed 0, ok 2`,
	} {
		g := startGateway(t, Options{Faults: []string{fault}})
		for _, script := range []string{"true", "true", "false"} {
			if a := roundTrip(t, g, "POST", startPath, envelope(0, shell(script)), streaming); len(a.events(t)) != 2 {
				t.Fatalf("%s", a.body)
			}
		}
		body := string(roundTrip(t, g, "GET", "/metrics", nil).body)
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
	g := startGateway(t, Options{Faults: []string{"start-refused"}, Seed: 3})
	refused := 0
	for range 2 * seldom {
		a := roundTrip(t, g, "POST", startPath, envelope(0, shell("true")), streaming)
		if a.code == "invalid_argument" && len(a.frames) == 1 && strings.Contains(a.text, "temporarily") {
			refused++
		} else if a.code != "" {
			t.Errorf("%q %s", a.code, a.body)
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
		a := roundTrip(t, g, "POST", startPath, envelope(0, shell("true")), streaming, "Connect-Timeout-Ms: "+late)
		if silent && (a.code != "deadline_exceeded" || len(a.frames) != 1) || !silent && len(a.events(t)) != 2 {
			t.Errorf("Start %d: %q %s", i, a.code, a.body)
		}
	}
	if n := len(g.table.list()); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	// A client that gives up, and a gateway that closes, end it too.
	for range seldom {
		c := dial(t, g)
		c.request("POST", startPath, envelope(0, shell("true")), streaming)
		_ = c.Close()
	}
}

func TestFaultOrphanWedgesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, own, box := seamedTable(t, Options{Faults: []string{"orphan-wedges-end"}})
		defer own.close()
		for i, holders := range []int{0, 1} {
			p, sub, err := tab.start(spec{config: &envd.ProcessConfig{}})
			if err != nil {
				t.Fatal(err)
			}
			box.at(i).holders = holders
			box.at(i).exit(virtual.Status{})
			time.Sleep(2 * orphanGrace)
			if holders > 0 {
				box.at(i).letGo()
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if _, ended, _ := sub.take(); ended != (holders == 0) || p.isLive() {
				t.Errorf("%d holders: ended %v, listed %v", holders, ended, p.isLive())
			}
		}
	})
}

func TestFaultSlowReaderDrops(t *testing.T) {
	h := newHub(wallClock{}, hubPolicy{dropsBehind: true})
	slow, quick := h.subscribe(), h.subscribe()
	line := strings.Repeat("a", maxLine-1) + "\n"
	const lines = 64
	for range lines {
		h.write(virtual.Stdout, []byte(line))
		if out, lost := taken(quick); out != line || lost {
			t.Errorf("the quick one got %d bytes, lost %v", len(out), lost)
		}
	}
	h.end()
	batch, ended, lost := slow.take()
	if n := len(batch); n*maxLine <= dropBacklog || n >= lines || !ended || lost {
		t.Errorf("the slow one got %d lines, ended %v, lost %v: want some dropped in silence", n, ended, lost)
	}
}

func TestFaultExpiredTimeoutStarts(t *testing.T) {
	g := startGateway(t, Options{Faults: []string{"expired-timeout-starts"}})
	a := roundTrip(t, g, "POST", startPath, envelope(0, shell("sleep 100")), streaming, "Connect-Timeout-Ms: 0")
	if n := len(g.table.list()); a.code != "deadline_exceeded" || len(a.frames) != 1 || n != 1 {
		t.Errorf("%q, %d frames, %d processes", a.code, len(a.frames), n)
	}
}

func TestVariantsOfASignalsCodeKeepItsName(t *testing.T) {
	for id, base := range map[string]int32{"signal-code-137": 128, "signal-code-9": 0} {
		c := client(t, startGateway(t, Options{Variants: []string{id}}))
		for sig, want := range map[envd.Signal]syscall.Signal{envd.Signal_SIGNAL_SIGKILL: syscall.SIGKILL, envd.Signal_SIGNAL_SIGTERM: syscall.SIGTERM} {
			s := begin(t, c, sh("read x"))
			if _, err := c.SendSignal(deadline(t), signal(s.pid, sig)); err != nil {
				t.Fatal(err)
			}
			_, _, end, err := s.rest()
			if end.GetExitCode() != base+int32(want) || end.GetExited() || end.GetStatus() != "signal: "+want.String() || err != nil {
				t.Errorf("%s: %v: %v %v", id, want, end, err)
			}
		}
		if _, _, end, _ := begin(t, c, sh("exit 7")).rest(); end.GetExitCode() != 7 {
			t.Errorf("%s: an exit: %v", id, end)
		}
	}
}

func TestVariantUpdateIgnored(t *testing.T) {
	c := client(t, startGateway(t, Options{Variants: []string{"update-ignored"}}))
	s := begin(t, c, sh("read x"))
	size := &envd.PTY{Size: &envd.PTY_Size{Cols: 80, Rows: 24}}
	if _, err := c.Update(deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: byPID(s.pid), Pty: size})); err != nil {
		t.Error(err)
	}
	_, err := c.Update(deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: byPID(1), Pty: size}))
	wantCode(t, "nobody", err, connect.CodeNotFound)
}
