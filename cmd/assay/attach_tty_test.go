//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"assay/fakes/gateway"
	"assay/internal/testkit"
)

// onTTY is the program on a terminal of its own.
type onTTY struct {
	t       *testing.T
	cmd     *exec.Cmd
	master  *os.File // what a person types and sees
	slave   *os.File
	before  *unix.Termios
	screen  *lockedBuffer
	drained chan struct{}
}

// attachOnTTY runs assay attach on a terminal.
func attachOnTTY(t *testing.T, columns uint16, args ...string) *onTTY {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("no terminal here: %v", err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
		t.Fatal(err)
	}
	c, _, _ := program(t, append([]string{"attach"}, args...)...)
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	c.Env = append(c.Env, "TERM=xterm-256color")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	x := &onTTY{t: t, cmd: c, master: master, slave: slave, screen: &lockedBuffer{}, drained: make(chan struct{})}
	x.before = x.modes()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(x.drained)
		buf := make([]byte, 32<<10)
		for {
			n, err := master.Read(buf)
			_, _ = x.screen.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill() // it has ended, unless the test failed
		_ = slave.Close()
		_ = master.Close()
		<-x.drained
	})
	return x
}

func (x *onTTY) modes() *unix.Termios {
	x.t.Helper()
	modes, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return modes
}

// shows waits until the screen has shown a text n times.
func (x *onTTY) shows(text string, n int) {
	x.t.Helper()
	testkit.Eventually(x.t, func() error {
		if screen := x.screen.String(); strings.Count(screen, text) < n {
			return fmt.Errorf("%q is not %d times in %q", text, n, screen)
		}
		return nil
	})
}

func (x *onTTY) types(keys string) {
	x.t.Helper()
	if _, err := x.master.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// insist sends three signals. They differ, because a second one of a kind that waits is none.
func insist(t *testing.T, p *os.Process) {
	t.Helper()
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT} {
		if err := p.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
}

// last is what the tests show behind all that the program shows.
const last = "\x00the program has ended\x00"

// ends requires an exit code, 128 for one above it, and the modes that the terminal had before.
func (x *onTTY) ends(code int) {
	x.t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = x.cmd.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(60 * time.Second):
		x.t.Fatalf("the program does not end; the screen: %q", x.screen.String())
	}
	if _, err := x.slave.WriteString(last); err != nil {
		x.t.Fatal(err)
	}
	x.shows(last, 1) // all that the program wrote is read
	if got := x.cmd.ProcessState.ExitCode(); got != code && (code != 128 || got <= code) {
		x.t.Errorf("exit code %d, want %d; the screen: %q", got, code, x.screen.String())
	}
	if d := cmp.Diff(x.before, x.modes()); d != "" {
		x.t.Errorf("the terminal is not as it was (-before +after):\n%s", d)
	}
}

var attachSurfaces = []string{"ws", "process"}

func TestAttachOnATerminal(t *testing.T) {
	t.Parallel()
	url := gatewayFor(t, gateway.Options{}).URL()
	for _, over := range attachSurfaces {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			x := attachOnTTY(t, 60, url, "--over", over, "--cmd", "sh", "--arg", "-c", "--arg", "while stty size; read x; do echo got $x; done")
			x.shows("Ctrl+] leaves\r\n", 1)
			x.shows("24 60\r\n", 1)
			x.types("some words\r")
			x.shows("got some words\r\n", 1)
			if err := pty.Setsize(x.master, &pty.Winsize{Rows: 30, Cols: 100}); err != nil {
				t.Fatal(err)
			}
			for n := 1; !strings.Contains(x.screen.String(), "30 100"); n++ { // input may overtake the size
				x.types("word\r")
				x.shows("got word\r\n", n)
			}
			x.types("\x03")
			x.ends(130)
			for line := range strings.SplitSeq(x.screen.String(), "\r\n") {
				if strings.HasPrefix(line, "assay: ") && len(line) > 60 {
					t.Errorf("%d columns: %q", len(line), line)
				}
			}
		})
	}
}

// fullScreen is a program that draws over the whole screen, as an editor does, at every key.
const fullScreen = `stty raw -echo; printf '\033[?1049h\033[?25l\033[?1000h\033[?2004h'; n=0
while :; do n=$((n+1)); printf '\033[H\033[2J\033[7mscreen %d\033[0m\r\nq quits\r\n' $n; k=$(head -c 1); [ "$k" = q ] && break; done
printf '\033[?2004l\033[?1000l\033[?25h\033[?1049l'; stty sane; exit 7`

// normal is what ends the modes of fullScreen.
const normal = "\x1b[?1000l\x1b[?2004l\x1b[?1049l\x1b[?25h"

func TestAFullScreenProgramIsUsedAndQuit(t *testing.T) {
	t.Parallel()
	url := gatewayFor(t, gateway.Options{}).URL()
	for _, over := range attachSurfaces {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			x := attachOnTTY(t, 80, url, "--over", over, "--cmd", "sh", "--arg", "-c", "--arg", fullScreen)
			x.shows("screen 1", 1)
			x.types("x\x03") // in raw mode Ctrl+C is a key
			x.shows("screen 3", 1)
			x.types("q")
			x.ends(7)
			if strings.Contains(x.screen.String(), normal) {
				t.Errorf("the modes that the program itself has ended are ended again: %q", x.screen.String())
			}
		})
	}
}

// Whatever ends the session, the terminal is in its own modes again, and so is the screen.
func TestTheTerminalIsRestoredOnEveryWayOut(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		out  func(x *onTTY, g *gateway.Gateway)
		code int
		says string
	}{
		"Ctrl+]":              {func(x *onTTY, _ *gateway.Gateway) { x.types("\x1d") }, 0, "left; the command was told to end"},
		"the gateway is gone": {func(_ *onTTY, g *gateway.Gateway) { _ = g.Close() }, exitUnreachable, "is lost: the gateway closed the connection without an exit code (1001"},
		"a crash": {func(x *onTTY, _ *gateway.Gateway) { _ = x.cmd.Process.Signal(testkit.SIGUSR1) }, exitDefect,
			"this is a defect of Assay: out of order"},
		"three signals": {func(x *onTTY, _ *gateway.Gateway) {
			insist(t, x.cmd.Process)
		}, 128, "left; the command was told to end"},
		"the hangup of the terminal": {func(x *onTTY, _ *gateway.Gateway) { _ = x.cmd.Process.Signal(syscall.SIGHUP) }, 129, "left; the command was told to end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gatewayFor(t, gateway.Options{})
			x := attachOnTTY(t, 60, g.URL(), "--cmd", "sh", "--arg", "-c", "--arg", "trap '' TERM HUP; "+fullScreen)
			x.shows("q quits", 1)
			if cmp.Equal(x.before, x.modes()) {
				t.Error("the terminal is not in raw mode")
			}
			tc.out(x, g)
			x.ends(tc.code)
			drawn := x.screen.String()
			_, rest, restored := strings.Cut(drawn, normal)
			if !restored || !strings.Contains(drawn, tc.says) {
				t.Errorf("want %q and %q in %q", normal, tc.says, drawn)
			}
			if tc.code >= exitUnreachable && tc.code < exitInconclusive && !strings.Contains(rest, tc.says) {
				t.Errorf("the message is on the screen that was left: %q", drawn)
			}
		})
	}
}

// The programs that people use: each draws its screen, and is left again.
func TestRealProgramsAreUsed(t *testing.T) {
	t.Parallel()
	g := gatewayFor(t, gateway.Options{Processes: gateway.ProcessesOS, InsecureLocal: true})
	for name, tc := range map[string]struct {
		program string
		args    []string
		use     func(x *onTTY)
	}{
		"less": {"less", []string{"-c", "seq 1 500 | less; exit 5"}, func(x *onTTY) {
			x.shows("\n23", 1)
			x.types("G")
			x.shows("\n500", 1)
			x.types("q")
		}},
		"vim": {"vim", []string{"-c", "vim -u NONE -N text; cat text; exit 5"}, func(x *onTTY) {
			x.shows("~", 20)
			x.types("iwritten by hand\x1b:wq\r")
			x.shows("written by hand\r\n", 1)
		}},
	} {
		if _, err := exec.LookPath(tc.program); err != nil {
			t.Logf("no %s here", tc.program)
			continue
		}
		for _, over := range attachSurfaces {
			t.Run(name+" over "+over, func(t *testing.T) {
				args := []string{g.URL(), "--over", over, "--cmd", "sh"}
				for _, a := range tc.args {
					args = append(args, "--arg", strings.ReplaceAll(a, "text", "text-"+over))
				}
				x := attachOnTTY(t, 80, args...)
				tc.use(x)
				x.ends(5)
			})
		}
	}
}

// Without a terminal in the sandbox, the local one stays as it is: it hands over lines, shows what is typed, and makes a signal of Ctrl+C.
func TestATerminalWithPipesBehindIt(t *testing.T) {
	t.Parallel()
	url := gatewayFor(t, gateway.Options{}).URL()
	for _, over := range attachSurfaces {
		for name, tc := range map[string]struct {
			keys string
			code int
		}{
			"Ctrl+D ends stdin":       {"\x04", 3},
			"Ctrl+C is a signal":      {"\x03", 9},
			"Ctrl+] leaves at a line": {"\x1d\r", 0},
		} {
			t.Run(name+" over "+over, func(t *testing.T) {
				t.Parallel()
				x := attachOnTTY(t, 80, url, "--over", over, "--pty", "off", "--cmd", "sh", "--arg", "-c", "--arg", "trap 'exit 9' INT TERM; while read x; do echo got $x; done; exit 3")
				x.types("words\r")
				x.shows("got words\r\n", 1)
				if !cmp.Equal(x.before, x.modes()) {
					t.Error("the terminal is in another mode")
				}
				x.types(tc.keys)
				x.ends(tc.code)
			})
		}
	}
}

// Output without a terminal in the sandbox can switch modes too.
func TestTheScreenIsRestoredBehindPipes(t *testing.T) {
	t.Parallel()
	x := attachOnTTY(t, 80, gatewayFor(t, gateway.Options{}).URL(), "--pty", "off", "--cmd", "printf", "--arg", `\033[?25l\033[31mred`)
	x.ends(0)
	if !strings.HasSuffix(strings.TrimSuffix(x.screen.String(), last), "red\x1b[?25h\x1b[0m") {
		t.Errorf("%q", x.screen.String())
	}
}

// A terminal that is stopped and continued is in raw mode again: its shell has changed that.
func TestRawModeComesBackWhenTheProgramContinues(t *testing.T) {
	t.Parallel()
	x := attachOnTTY(t, 80, gatewayFor(t, gateway.Options{}).URL(), "--cmd", "sh", "--arg", "-c", "--arg", "echo ready; read x; exit 3")
	x.shows("ready", 1)
	raw := x.modes()
	if err := x.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetTermios(int(x.slave.Fd()), unix.TCSETS, x.before); err != nil {
		t.Fatal(err)
	}
	if err := x.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, func() error {
		if d := cmp.Diff(raw, x.modes()); d != "" {
			return fmt.Errorf("it is not in raw mode: %s", d)
		}
		return nil
	})
	x.types("\r")
	x.ends(3)
}

// Before the command is connected, an interrupt is the program's own.
func TestAnInterruptWhileAttachConnects(t *testing.T) {
	t.Parallel()
	for _, over := range attachSurfaces {
		log := &lockedBuffer{}
		x := attachOnTTY(t, 80, acceptAndSay(t, log), "--over", over, "--cmd", "true", "--time-scale", "100")
		log.after(t, "connected")
		x.types("\x03")
		x.ends(130)
	}
}

// Nobody reads the output: the session can still be left.
func TestAFullPipeDoesNotHoldTheSession(t *testing.T) {
	t.Parallel()
	url := gatewayFor(t, gateway.Options{}).URL()
	for _, over := range attachSurfaces {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			c, _, stderr := program(t, "attach", url, "--over", over, "--cmd", "sh", "--arg", "-c", "--arg", "trap '' TERM INT; while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done")
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			if _, err := unix.FcntlInt(write.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
				t.Fatal(err)
			}
			c.Stdout = write
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			_ = write.Close()
			// It is full when it no longer grows: a write that does not fit into the rest of the page waits, whatever the rest.
			last := 0
			testkit.Eventually(t, func() error {
				n, err := unix.IoctlGetInt(int(read.Fd()), unix.TIOCINQ)
				if err == nil && (n == 0 || n != last) {
					err = fmt.Errorf("the pipe has %d bytes", n)
				}
				last = n
				return err
			})
			insist(t, c.Process)
			_ = c.Wait()
			if got := c.ProcessState.ExitCode(); got <= 128 {
				t.Errorf("exit code %d, want 128 and that of a signal\n%s", got, stderr)
			}
		})
	}
}
