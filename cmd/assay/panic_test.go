package main

import (
	"bytes"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"testing"

	"assay/internal/base/crash"
	"assay/internal/base/termsafe"
	"assay/internal/testkit"
)

// beFatal is the value of beProgram with which the program has a fatal error of the Go runtime at SIGUSR1,
// instead of a panic.
const beFatal = "fatal"

// panicOnSignal makes a goroutine of the program panic at SIGUSR1.
func panicOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, testkit.SIGUSR1)
	go func() {
		defer crash.Catch()
		<-signals
		if os.Getenv(beProgram) == beFatal {
			new(sync.Mutex).Unlock()
		}
		panic("out of order")
	}()
}

// A panic of any goroutine is a defect: exit code 4, a message, and JSON on stdout where it
// was asked for.
func TestAPanicOfAGoroutineIsADefect(t *testing.T) {
	t.Parallel()
	c, out, stderr := started(t, "load", "--streams", "1", "--duration", "1h", "--format", "json")
	stderr.after(t, "") // the plan
	if err := c.Process.Signal(testkit.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	wantExit(t, c.Wait(), exitDefect, stderr)
	if err := oneJSON(out.String()); err != nil || !strings.Contains(out.String(), `"exit": 4`) {
		t.Errorf("stdout: %v\n%s", err, out)
	}
	if text := stderr.String(); !strings.Contains(text, "this is a defect of Assay: out of order") || !strings.Contains(text, "panicOnSignal") {
		t.Errorf("stderr:\n%s", text)
	}
}

// A fatal error of the runtime cannot be recovered from. It must not look like wrong usage, which is exit code 2.
func TestAFatalErrorOfTheRuntimeIsNoWrongUsage(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no SIGABRT")
	}
	c, _, stderr := program(t, "load", "--streams", "1", "--duration", "1h")
	c.Env = append(c.Env, beProgram+"="+beFatal)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	stderr.after(t, "") // the plan
	if err := c.Process.Signal(testkit.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	err := c.Wait()
	if want := "signal: aborted"; err == nil || err.Error() != want {
		t.Errorf("ended with %v, want %s", err, want)
	}
	if text := stderr.String(); !strings.Contains(text, "fatal error: sync: unlock of unlocked mutex") {
		t.Errorf("stderr:\n%s", text)
	}
}

// broken is an input whose reading panics.
type broken struct{}

// Read panics.
func (broken) Read([]byte) (int, error) { panic("out of order") }

func TestAPanicOfACommandIsADefect(t *testing.T) {
	var out, stderr bytes.Buffer
	if code := run([]string{loadWorker}, stdio{in: broken{}, out: termsafe.Writer{To: &out}, err: termsafe.Writer{To: &stderr}}); code != exitDefect {
		t.Errorf("exit code %d, want %d", code, exitDefect)
	}
	if !strings.Contains(stderr.String(), "this is a defect of Assay: out of order\n  report it") {
		t.Errorf("stderr:\n%s", &stderr)
	}
}
