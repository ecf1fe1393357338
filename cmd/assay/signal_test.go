package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/bundle"
)

// program is this program with arguments, in a directory of its own.
func program(t *testing.T, args ...string) (c *exec.Cmd, out, err *bytes.Buffer) {
	t.Helper()
	c = exec.Command(os.Args[0], args...) //nolint:gosec // the test's own binary
	c.Env = append(os.Environ(), beProgram+"=1", "NO_COLOR=1")
	c.Dir = t.TempDir()
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	c.Stdout, c.Stderr = out, err
	return c, out, err
}

// After an interrupt stdout still holds exactly one JSON value, the bundle opens
// and says that it is partial, and the exit code is 130.
func TestInterruptLeavesAPartialBundleAndOneJSONValue(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt} {
		c, out, stderr := program(t, "conform", "--format", "json", "--out", "run")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		waitForObservation(t, filepath.Join(c.Dir, "run"))
		if err := c.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		err := c.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 130 {
			t.Fatalf("ended with %v, want exit code 130\n%s", err, stderr)
		}
		if err := oneJSON(out.String()); err != nil {
			t.Errorf("stdout: %v", err)
		}
		b, err := bundle.Open(filepath.Join(c.Dir, "run"))
		if err != nil {
			t.Fatal(err)
		}
		if !b.Run.Interrupted || len(b.Observations) == 0 {
			t.Errorf("interrupted %v with %d observations, want an interrupted run with some", b.Run.Interrupted, len(b.Observations))
		}
	}
}

// waitForObservation waits until the run has recorded something.
func waitForObservation(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if info, err := os.Stat(filepath.Join(dir, "observations.jsonl")); err == nil && info.Size() > 0 {
			return
		}
		time.Sleep(2 * time.Millisecond) // polls another process; nothing to wait on
	}
	t.Fatal("no observation within 30 s")
}

// A reader that goes away ends the program, and does not make it panic.
func TestClosedPipe(t *testing.T) {
	c, _, stderr := program(t, "list")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout = w
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if err := c.Wait(); err == nil {
		t.Error("ended well though nothing could be written")
	}
	if strings.Contains(stderr.String(), "panic") {
		t.Errorf("panicked:\n%s", stderr)
	}
}
