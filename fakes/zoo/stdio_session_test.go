package zoo

import (
	"fmt"
	"strings"
	"testing"

	"assay/fakes/gateway"
	"assay/fakes/gatewaytest"
	"assay/internal/testkit"
	"assay/internal/wire"
)

// faultAndRight starts a gateway with a fault and one without, and runs a test on both.
func faultAndRight(t *testing.T, fault string, test func(t *testing.T, g *gateway.Gateway, broken bool)) {
	t.Helper()
	t.Run(fault, func(t *testing.T) { test(t, startGateway(t, Options{Faults: []string{fault}}), true) })
	t.Run("without "+fault, func(t *testing.T) { test(t, startGateway(t, Options{}), false) })
}

// wantLife waits until a process is in List, or until none is.
func wantLife(t *testing.T, g *gateway.Gateway, want bool) {
	t.Helper()
	c := gatewaytest.Client(t, g)
	testkit.Eventually(t, func() error {
		if n := len(listed(t, c)); n > 0 != want {
			return fmt.Errorf("%d processes live; want one: %v", n, want)
		}
		return nil
	})
}

func TestFaultsOfALostClientKeepOrKillItsProcess(t *testing.T) {
	t.Parallel()
	hang := script("echo ready; sleep 100")
	faultAndRight(t, "stdio-close-ignored", func(t *testing.T, g *gateway.Gateway, broken bool) {
		c := attach(t, g, hang)
		c.until("ready")
		c.send(closing(1000))
		if got := c.rest(); !strings.HasSuffix(got, "close 1000") {
			t.Errorf("%q", got)
		}
		_ = c.Close()
		wantLife(t, g, broken)
	})
	faultAndRight(t, "stdio-loss-ignored", func(t *testing.T, g *gateway.Gateway, broken bool) {
		c := attach(t, g, hang)
		c.until("ready")
		_ = c.Close()
		wantLife(t, g, broken)
	})
	faultAndRight(t, "stdio-close-kills", func(t *testing.T, g *gateway.Gateway, broken bool) {
		c := attach(t, g, script("trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done"))
		c.until("ready")
		_ = c.Close()
		wantLife(t, g, false)
		killed := 0
		if broken {
			killed = 1
		}
		wantBooks(t, g, 1, 1-killed, 0, killed, 0)
	})
}

func TestFaultsOfSessionsShowToTheirClients(t *testing.T) {
	t.Parallel()
	session := script("echo one; read x; echo got $x", "session", "s")
	faultAndRight(t, "stdio-replay-missing", func(t *testing.T, g *gateway.Gateway, broken bool) {
		first := attach(t, g, session)
		first.until("one")
		_ = first.Close()
		second := attach(t, g, session)
		second.send(input("it\n"))
		want := "out:one\ngot it\n | " + exit0
		if broken {
			want = "out:got it\n | " + exit0
		}
		if got := second.rest(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
	faultAndRight(t, "stdio-session-exit-missing", func(t *testing.T, g *gateway.Gateway, broken bool) {
		first := attach(t, g, session)
		first.send(input("it\n"))
		first.rest()
		want := "out:one\ngot it\n | " + exit0
		if broken {
			want = "out:one\ngot it\n | close 1000"
		}
		if got := attach(t, g, session).rest(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
	faultAndRight(t, "stdio-output-first-only", func(t *testing.T, g *gateway.Gateway, broken bool) {
		first := attach(t, g, session)
		first.until("one") // it is in the session before the second
		second := attach(t, g, session)
		first.send(input("it\n"))
		if got := first.rest(); !strings.Contains(got, "got it") {
			t.Errorf("the first hears %q", got)
		}
		if got := second.rest(); strings.Contains(got, "got it") == broken {
			t.Errorf("the second hears %q", got)
		}
	})
	faultAndRight(t, "stdio-session-ends-with-client", func(t *testing.T, g *gateway.Gateway, broken bool) {
		first := attach(t, g, session)
		first.until("one")
		_ = first.Close()
		if broken {
			wantLife(t, g, false)
			return
		}
		second := attach(t, g, session)
		second.send(input("it\n"))
		second.until("got it")
	})
	faultAndRight(t, "stdio-viewer-types", func(t *testing.T, g *gateway.Gateway, broken bool) {
		first, view := attach(t, g, session), attach(t, g, []string{"session", "s", "role", "viewer"})
		view.send(input("mine\n"))
		want := "error"
		if broken {
			want = "got mine"
		}
		view.until(want)
		_ = first.Close()
	})
	faultAndRight(t, "stdio-second-may-not-type", func(t *testing.T, g *gateway.Gateway, broken bool) {
		first := attach(t, g, session)
		first.send(ping("p")) // it is the first once it has been answered
		first.until("pong")
		second := attach(t, g, session)
		second.send(input("mine\n") + ping("p"))
		if !broken {
			first.until("got mine") // the session ends, perhaps before the pong
			return
		}
		second.until("pong")
		first.send(input("other\n"))
		first.until("got other")
	})
}

func TestFaultsOfPanesMixThem(t *testing.T) {
	t.Parallel()
	open := control(`{"type":"open","pane":"left","cmd":"/bin/sh","args":["-c","echo left; read x; echo left got $x"]}`)
	for fault, want := range map[string]string{
		"":                          "binary:\x03left got it\n",
		"stdio-pane-output-in-main": "out:left\nleft got it\n",
		"stdio-pane-input-in-main":  "main got it\n",
	} {
		var o Options
		if fault != "" {
			o.Faults = []string{fault}
		}
		c := attach(t, startGateway(t, o), script("read x; echo main got $x; read y"))
		c.send(open)
		c.until("left\n")
		c.send(control(`{"type":"stdin","pane":"left","data":"it\n"}`))
		c.until(want)
	}
}

func TestFaultsOfTheTableHideOrKeepProcesses(t *testing.T) {
	t.Parallel()
	faultAndRight(t, "stdio-unlisted", func(t *testing.T, g *gateway.Gateway, broken bool) {
		c := attach(t, g, script("echo ready; read x"))
		c.until("ready")
		if got := len(listed(t, gatewaytest.Client(t, g))); got > 0 == broken {
			t.Errorf("%d processes", got)
		}
	})
	faultAndRight(t, "stdio-kill-ignored", func(t *testing.T, g *gateway.Gateway, broken bool) {
		c := attach(t, g, script("echo ready; read x"))
		c.until("ready")
		c.send(control(`{"type":"signal","signal":"SIGKILL"}`) + ping("p"))
		want := `"code":137`
		if broken {
			c.until("pong")
			c.send(input("\n"))
			want = `"code":0`
		}
		c.until(want)
	})
	faultAndRight(t, "stdio-uncounted", func(t *testing.T, g *gateway.Gateway, broken bool) {
		if a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("true")), gatewaytest.Streaming); len(a.Events(t)) != 2 {
			t.Fatalf("%s", a.Body)
		}
		attach(t, g, script("exit 3")).rest()
		if broken {
			wantBooks(t, g, 1, 1, 0, 0, 0)
		} else {
			wantBooks(t, g, 2, 1, 1, 0, 0)
		}
	})
}

func TestStdioFaultsAndVariantsCanBeCombined(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{
		Faults:   []string{"stdio-reserved-bit", "stdio-close-1011", "stdio-exit-code-wait-status", "stdio-frames-masked"},
		Variants: []string{"stdio-pongs", "one-byte-writes", "stdio-head-with-frames"},
	})
	want := "pong:alive | masked rsv out:a\n | pong:alive | masked text:" + fmt.Sprintf(`{"type":"exit","code":%d}`, 3<<8) + " | masked close 1011"
	if got := attach(t, g, script("echo a; exit 3")).rest(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAFrameTooLongForAStagePassesAsItIs(t *testing.T) {
	t.Parallel()
	var c wsCutter
	head := wire.AppendWSHead(nil, wire.WSHead{FIN: true, Opcode: wire.WSBinary, Length: 1 << 40})
	c.add([]byte(input("a")))
	c.add(append(head, "begin"...))
	f, whole := c.next()
	if _, more := c.next(); !whole || string(f.payload) != "a" || more || string(c.rest()) != string(head)+"begin" {
		t.Errorf("%q %v %v", f.payload, whole, more)
	}
	c.add([]byte("more"))
	if _, whole := c.next(); whole || string(c.rest()) != "more" {
		t.Error("the rest is not passed on")
	}
}
