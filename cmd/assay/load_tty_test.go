package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// onTerminal runs a command with stdout and stderr on a terminal of the given width, interrupts
// it when all words have been drawn, and returns the output.
func onTerminal(t *testing.T, columns uint16, words []string, args ...string) string {
	t.Helper()
	c, _, _ := program(t, args...)
	c.Stdout, c.Stderr = nil, nil
	c.Env = append(c.Env, "TERM=xterm", "COLUMNS=")
	tty, err := pty.StartWithSize(c, &pty.Winsize{Rows: 24, Cols: columns})
	if err != nil {
		t.Skipf("no terminal here: %v", err)
	}
	defer tty.Close()
	end := time.AfterFunc(60*time.Second, func() { _ = c.Process.Signal(os.Interrupt) })
	defer end.Stop()
	var drawn bytes.Buffer
	for buf, told := make([]byte, 4096), false; ; {
		n, err := tty.Read(buf)
		drawn.Write(buf[:n])
		if !told && len(missing(escape.ReplaceAllString(drawn.String(), ""), words)) == 0 {
			told = true
			_ = c.Process.Signal(os.Interrupt)
		}
		if err != nil { // the program has ended
			break
		}
	}
	if err := c.Wait(); c.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("%v:\n%s", err, drawn.String())
	}
	return drawn.String()
}

// missing returns the words that are not in a text.
func missing(text string, words []string) (not []string) {
	for _, w := range words {
		if !strings.Contains(text, w) {
			not = append(not, w)
		}
	}
	return not
}

// escape is a control sequence of a terminal.
var escape = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

func TestLoadDrawsItsProgressWithinTheTerminal(t *testing.T) {
	t.Parallel()
	words := []string{"s of 1h", "5 of 5, ", "p50/p99  first event", "0 failed", "driver lag"}
	for _, columns := range []uint16{60, 80, 200} {
		drawn := onTerminal(t, columns, words, "load", "--streams", "5", "--duration", "1h")
		plain := escape.ReplaceAllString(drawn, "")
		for _, word := range missing(plain, append(words, "INCONCLUSIVE", "killed 5")) {
			t.Errorf("%d columns: %q is not in it:\n%s", columns, word, plain)
		}
		for _, line := range strings.FieldsFunc(plain, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if n := len([]rune(line)); n > int(columns) && !strings.Contains(line, "descriptors") && !strings.Contains(line, "the embedded gateway (") {
				t.Errorf("%d columns on a terminal of %d: %q", n, columns, line)
			}
		}
		if runs, opens := strings.Count(plain, "run      ["), strings.Count(plain, "open     ["); runs == 0 || runs != opens {
			t.Errorf("%d columns: the time was drawn %d times, what is open %d times", columns, runs, opens)
		}
		if !strings.Contains(drawn, "\x1b[") {
			t.Error("nothing was drawn over: is it a terminal?")
		}
	}
}

func TestASoakDrawsItsProgressWithinTheTerminal(t *testing.T) {
	t.Parallel()
	words := []string{"s of 1h0m0s", "window 1 of 1800", "0 failed"}
	drawn := onTerminal(t, 120, words, "soak", "--duration", "1h", "--window", "2s", "--held", "0", "--out", t.TempDir())
	plain := escape.ReplaceAllString(drawn, "")
	for _, word := range missing(plain, append(words, "INCONCLUSIVE", "--resume continues it")) {
		t.Errorf("%q is not in it:\n%s", word, plain)
	}
	if !strings.Contains(drawn, "\x1b[") {
		t.Error("nothing was drawn over: is it a terminal?")
	}
}

func TestLoadServesMetricsOfTheDriver(t *testing.T) {
	t.Parallel()
	c, _, stderr := started(t, "load", "--streams", "5", "--duration", "1h", "--metrics-listen", "127.0.0.1:0")
	// After a second, in which five streams were open and ticked.
	text := holds(t, stderr.after(t, "metrics of the driver: "), "assay_load_streams_open 5\n", `assay_load_driver_lag_seconds{quantile="0.99"}`)
	for _, want := range []string{
		"# TYPE assay_load_streams_started_total counter\nassay_load_streams_started_total 5\n",
		`assay_load_streams_ended_total{outcome="killed"} 0`, "process_cpu_seconds_total", "go_goroutines",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in it:\n%s", want, text)
		}
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	done := time.AfterFunc(30*time.Second, func() { _ = c.Process.Kill() })
	defer done.Stop()
	_ = c.Wait() // exit code 130
}
