package attach_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/coder/websocket"

	"assay/fakes/gateway"
	"assay/internal/command/attach"
	"assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

func TestTheCommandsExitCodeAndStreamsAreThoseOfTheSession(t *testing.T) {
	t.Parallel()
	url := gatewayOf(t, gateway.Options{})
	for name, tc := range map[string]struct {
		script, in, out, err string
		code                 int
	}{
		"success":                       {"echo one", "", "one\n", "", 0},
		"a code":                        {"exit 7", "", "", "", 7},
		"the highest code":              {"exit 255", "", "", "", 255},
		"stderr stays stderr":           {"echo one; echo two >&2; exit 3", "", "one\n", "two\n", 3},
		"death by a signal":             {"kill -9 $$", "", "", "", 137},
		"stdin and its end":             {"tr a-z A-Z; echo end", "some\nlines\n", "SOME\nLINES\nend\n", "", 0},
		"input without a line feed":     {"cat", "abc", "abc", "", 0},
		"what is not UTF-8":             {`printf 'a\377\300\001b'`, "", "a\xff\xc0\x01b", "", 0},
		"what a terminal would obey":    {`printf '\033[31mred'`, "", "\x1b[31mred", "", 0},
		"Ctrl+] from a pipe is data":    {"cat", "a\x1db", "a\x1db", "", 0},
		"JSON on stdin is data":         {"cat", `{"type":"signal","signal":"SIGKILL"}`, `{"type":"signal","signal":"SIGKILL"}`, "", 0},
		"a command that reads no stdin": {"exit 4", strings.Repeat("y\n", 100_000), "", "", 4},
	} {
		for _, over := range surfaces {
			t.Run(name+" over "+over, func(t *testing.T) {
				t.Parallel()
				o := script(url, over, tc.script)
				o.Local.In = strings.NewReader(tc.in)
				r := run(t, o)
				r.ends(tc.code)
				if r.out.String() != tc.out || r.err.String() != tc.err {
					t.Errorf("stdout %q, want %q; stderr %q, want %q", r.out, tc.out, r.err, tc.err)
				}
			})
		}
	}
}

// The order of the bytes and their number are right in both directions, with far more than any buffer.
func TestMuchInputAndOutputIsWhole(t *testing.T) {
	t.Parallel()
	url := gatewayOf(t, gateway.Options{})
	for over, size := range map[string]int{attach.OverSocket: 3 << 20, attach.OverProcess: 2 << 20} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			all := strings.Repeat("0123456789abcdef0123456789abcde\n", size/32)
			o := script(url, over, "cat; exit 5")
			o.Local.In = strings.NewReader(all)
			r := run(t, o)
			r.ends(5)
			if got := r.out.String(); got != all {
				t.Errorf("%d bytes came back, want the same %d", len(got), len(all))
			}
		})
	}
}

func TestATerminalIsUsed(t *testing.T) {
	t.Parallel()
	url := gatewayOf(t, gateway.Options{})
	for _, over := range surfaces {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			o := script(url, over, `while stty size; read x; do echo "got $x"; done; echo never`)
			o.PTY = true
			r := run(t, o)
			r.out.until(t, "24 80\r\n")
			if r.terminal.raw != true {
				t.Error("the local terminal is not in raw mode")
			}
			r.terminal.set(attach.Size{Cols: 60, Rows: 30})
			r.resized <- struct{}{}
			waitForSize(t, r)
			r.types("\x03")
			r.ends(130)
			if strings.Contains(r.out.String(), "never") {
				t.Errorf("Ctrl+C did not end the command: %q", r.out)
			}
		})
	}
}

// waitForSize types lines until the command says the new size: input may overtake it.
func waitForSize(t *testing.T, r *running) {
	t.Helper()
	for n := 1; !strings.Contains(r.out.String(), "\r\n30 60\r\n"); n++ {
		r.types("word\r")
		r.out.untilTimes(t, "got word\r\n", n)
	}
}

func TestTheEndOfInputOfATerminalIsItsKey(t *testing.T) {
	t.Parallel()
	url := gatewayOf(t, gateway.Options{})
	for name, in := range map[string]string{"behind a line": "line\n", "behind a part of a line": "part", "at once": ""} {
		for _, over := range surfaces {
			t.Run(name+" over "+over, func(t *testing.T) {
				t.Parallel()
				o := script(url, over, "cat; exit 6")
				o.PTY, o.Local.In = true, strings.NewReader(in)
				r := runPiped(t, o)
				r.ends(6)
				if !strings.Contains(r.out.String(), strings.TrimSpace(in)) {
					t.Errorf("stdout %q", r.out)
				}
			})
		}
	}
}

func TestCtrlBracketLeavesAndEndsTheCommand(t *testing.T) {
	t.Parallel()
	for _, over := range surfaces {
		for name, tc := range map[string]struct{ keys, trap string }{
			"alone":             {"\x1d", "exit 1"},
			"behind other keys": {"abc\x1dnever", "exit 1"},
			"a command that ignores SIGTERM, as a shell does": {"\x1d", ""},
		} {
			t.Run(name+" over "+over, func(t *testing.T) {
				t.Parallel()
				url := gatewayOf(t, gateway.Options{ClockScale: 10})
				o := script(url, over, "trap '"+tc.trap+"' TERM; echo ready; while :; do read x; done")
				o.PTY = true
				r := run(t, o)
				r.out.until(t, "ready")
				r.types(tc.keys)
				r.ends(0)
				if !strings.Contains(r.notes.String(), "left; the command was told to end") {
					t.Errorf("notes %q", r.notes)
				}
				nothingRuns(t, url)
			})
		}
	}
}

// nothingRuns waits until a gateway has no process.
func nothingRuns(t *testing.T, url string) {
	t.Helper()
	c := processconnect.NewProcessClient(http.DefaultClient, url)
	defer http.DefaultClient.CloseIdleConnections()
	for due := time.Now().Add(patience); ; {
		list, err := c.List(t.Context(), connect.NewRequest(&process.ListRequest{}))
		switch {
		case err != nil:
			t.Fatal(err)
		case len(list.Msg.Processes) == 0:
			return
		case time.Now().After(due):
			t.Fatalf("still there: %v", list.Msg.Processes)
		}
	}
}

// A command of a session goes on, is joined by its name, and is not started again.
func TestASessionOutlivesItsClient(t *testing.T) {
	t.Parallel()
	url := gatewayOf(t, gateway.Options{})
	for _, over := range surfaces {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			o := script(url, over, "echo begun; while read x; do echo again-$x; done")
			o.PTY, o.Session = true, "demo-"+over
			first := run(t, o)
			first.out.until(t, "begun")
			first.types("\x1d")
			first.ends(0)
			if !strings.Contains(first.notes.String(), "goes on without this client") {
				t.Errorf("notes %q", first.notes)
			}
			o.Command, o.Args = "", nil
			second := run(t, o)
			<-second.attached
			second.types("1\r")
			second.out.until(t, "again-1")
			second.types("\x04")
			second.ends(0)
		})
	}
}

func TestASignalIsSentOnAndTheThirdLeaves(t *testing.T) {
	t.Parallel()
	url := gatewayOf(t, gateway.Options{})
	for _, over := range surfaces {
		t.Run("ends the command over "+over, func(t *testing.T) {
			t.Parallel()
			r := run(t, script(url, over, "trap 'echo caught; exit 9' TERM; echo ready; while :; do sleep 0.01; done"))
			r.out.until(t, "ready")
			r.sends("SIGTERM", 15)
			r.ends(9)
		})
		t.Run("is ignored over "+over, func(t *testing.T) {
			t.Parallel()
			r := run(t, script(url, over, "trap '' TERM; echo ready; read x"))
			r.out.until(t, "ready")
			for range 3 {
				r.sends("SIGTERM", 15)
			}
			r.ends(143)
		})
	}
}

func TestAViewerOnlyWatches(t *testing.T) {
	t.Parallel()
	url := gatewayOf(t, gateway.Options{})
	o := script(url, attach.OverSocket, "echo begun; read x; echo got-$x")
	o.PTY, o.Session = true, "watched"
	driver := run(t, o)
	driver.out.until(t, "begun")
	v := o
	v.Command, v.Args, v.Role = "", nil, attach.RoleViewer
	viewer := run(t, v)
	viewer.out.until(t, "begun")
	viewer.types("input\r")
	viewer.notes.until(t, "a viewer sends no input; Ctrl+] leaves")
	driver.types("own\r")
	viewer.out.until(t, "got-own")
	driver.ends(0)
	viewer.ends(0)
}

func TestASecondDriverMakesAViewerOfTheFirst(t *testing.T) {
	t.Parallel()
	url := gatewayOf(t, gateway.Options{})
	o := script(url, attach.OverSocket, "echo begun; read x; echo got-$x")
	o.PTY, o.Session, o.Role = true, "driven", attach.RoleDriver
	first := run(t, o)
	first.out.until(t, "begun")
	second := run(t, o)
	second.out.until(t, "begun")
	first.notes.until(t, "another client is the driver now: this one is a viewer")
	second.types("mine\r")
	first.out.until(t, "got-mine")
	first.ends(0)
	second.ends(0)
}

// A gateway that ignores the end of stdin says nothing: a command that is silent for a while afterwards is told of, and
// no other.
func TestASilentCommandBehindTheEndOfStdinIsToldOf(t *testing.T) {
	t.Parallel()
	for name, output := range map[string]int{"silent": 0, "busy": 2} {
		t.Run(name, func(t *testing.T) {
			clock, ended := newManual(), make(chan struct{})
			armed, over := make(chan struct{}), make(chan struct{})
			url := socketServer(t, func(ctx context.Context, c *websocket.Conn) {
				_, _, _ = c.Read(ctx) // the end of stdin, which it ignores
				ended <- struct{}{}
				<-armed
				for range output {
					_ = c.Write(ctx, websocket.MessageBinary, []byte("\x01x"))
				}
				<-over
				_ = c.Write(ctx, websocket.MessageText, []byte(exitZero))
			})
			o := script(url, attach.OverSocket, "")
			o.Local.In, o.Clock = strings.NewReader(""), attach.Clock{Now: clock.Now, After: clock.After}
			r := run(t, o)
			<-ended
			clock.waiters(t, 2) // the next ping, and what is tested
			close(armed)
			if output > 0 {
				r.out.until(t, "xx")
			}
			clock.advance(t, 10*time.Second)
			if output == 0 {
				r.notes.until(t, "stdin has ended; the command still runs")
			}
			close(over)
			r.ends(0)
			if output > 0 && r.notes.String() != "" {
				t.Errorf("notes %q", r.notes)
			}
		})
	}
}
