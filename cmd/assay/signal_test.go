package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"assay/fakes/gateway"
	"assay/internal/record/bundle"
	"assay/internal/testkit"
)

// program returns a command for this program in a new directory.
func program(t *testing.T, args ...string) (c *exec.Cmd, out *bytes.Buffer, err *lockedBuffer) {
	t.Helper()
	c = exec.Command(os.Args[0], args...) //nolint:gosec // the test's own binary
	c.Env = append(os.Environ(), beProgram+"=1", "HOME="+t.TempDir(), "NO_COLOR=1", "ASSAY_TIME_SCALE="+strconv.Itoa(testkit.Slowdown))
	c.Dir = t.TempDir()
	out, err = &bytes.Buffer{}, &lockedBuffer{}
	c.Stdout, c.Stderr = out, err
	return c, out, err
}

// started is program for one that has started.
func started(t *testing.T, args ...string) (c *exec.Cmd, out *bytes.Buffer, err *lockedBuffer) {
	t.Helper()
	c, out, err = program(t, args...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, out, err
}

// gatewayFor starts a gateway for a test.
func gatewayFor(t *testing.T, o gateway.Options) *gateway.Gateway {
	t.Helper()
	g, err := gateway.Start(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// observed is the file of a run that is not empty after the first observation.
const observed = "observations.jsonl"

// After an interrupt at any time, stdout has exactly one JSON value, the bundle opens and
// is marked as partial, judging it again gives no pass, and the exit code is 130.
func TestInterruptLeavesAPartialBundleAndOneJSONValue(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		signal os.Signal
		when   func(t *testing.T, stderr *lockedBuffer, dir string)
	}{
		"SIGINT after an observation":  {os.Interrupt, func(t *testing.T, _ *lockedBuffer, dir string) { waitForFile(t, dir, observed, 0) }},
		"SIGTERM after an observation": {syscall.SIGTERM, func(t *testing.T, _ *lockedBuffer, dir string) { waitForFile(t, dir, observed, 0) }},
		"SIGINT while the target is probed": {os.Interrupt, func(t *testing.T, stderr *lockedBuffer, _ string) {
			stderr.after(t, "connected")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c, out, stderr := program(t, "conform", "--format", "json", "--out", "run")
			if strings.Contains(name, "probed") {
				url := acceptAndSay(t, stderr)
				c.Args = append(c.Args, url)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			tc.when(t, stderr, filepath.Join(c.Dir, "run"))
			if err := c.Process.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			wantExit(t, c.Wait(), 130, stderr)
			if err := oneJSON(out.String()); err != nil {
				t.Errorf("stdout: %v", err)
			}
			b, err := bundle.Open(filepath.Join(c.Dir, "run"))
			if err != nil {
				t.Fatal(err)
			}
			if !b.Run.Interrupted || len(b.Observations) != len(b.Run.Planned) {
				t.Errorf("interrupted %v, %d observations of %d: want an interrupted run that accounts for all", b.Run.Interrupted, len(b.Observations), len(b.Run.Planned))
			}
		})
	}
}

func wantExit(t *testing.T, err error, code int, stderr *lockedBuffer) {
	t.Helper()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != code {
		t.Fatalf("ended with %v, want exit code %d\n%s", err, code, stderr)
	}
}

// acceptAndSay is a server that accepts, logs that, and never responds.
func acceptAndSay(t *testing.T, log *lockedBuffer) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			_, _ = log.Write([]byte("connected\n"))
		}
	}()
	return "http://" + l.Addr().String()
}

// lockedBuffer is a buffer that a process writes and a test reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns the bytes written so far.
func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// after waits for a line with a text, and returns what is behind the text.
func (l *lockedBuffer) after(t *testing.T, text string) (rest string) {
	t.Helper()
	testkit.Eventually(t, func() error {
		all := l.String()
		_, rest, _ = strings.Cut(all, text)
		line, _, whole := strings.Cut(rest, "\n")
		if !whole {
			return fmt.Errorf("no line has %q:\n%s", text, all)
		}
		rest = line
		return nil
	})
	return rest
}
