package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/fakes/gateway"
	"assay/internal/base/termsafe"
	"assay/internal/load"
	"assay/internal/record/bundle"
	"assay/internal/testkit"
)

// After an interrupt all processes are killed, stdout has exactly one JSON value that reports
// it, the files have the same report, and the exit code is 130.
func TestInterruptedLoadKillsAndReports(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]os.Signal{"SIGINT": os.Interrupt, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			g := gatewayFor(t, gateway.Options{})
			c, out, _ := started(t, "load", g.URL(), "--streams", "50", "--duration", "1h", "--format", "json", "--out", dir)
			holds(t, g.URL()+"/metrics", "coppice_commands_active 50\n")
			begun := time.Now()
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			err := c.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
				t.Fatalf("ended with %v, want exit code 130", err)
			}
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("it took %v to end", took)
			}
			if err := oneJSON(out.String()); err != nil {
				t.Fatalf("stdout: %v", err)
			}
			var r bundle.LoadReport
			if err := json.Unmarshal(out.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			if !r.Interrupted || r.Ledger.Open != 0 || r.Streams.Completed == 0 || r.Ledger.Killed != r.Ledger.Started {
				t.Errorf("interrupted %v, streams %+v, ledger %+v", r.Interrupted, r.Streams, r.Ledger)
			}
			var kept bundle.LoadReport
			if text, err := os.ReadFile(filepath.Join(dir, "load.json")); err != nil || json.Unmarshal(text, &kept) != nil || kept.Streams != r.Streams {
				t.Errorf("load.json: %v, %+v", err, kept.Streams)
			}
		})
	}
}

// A driver that was stopped for a while must not report a late gateway, with either engine:
// streams that were due meanwhile start late, and the threshold is undecided.
func TestAStoppedDriverBlamesNobody(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"fast", "portable"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			// The gateway is in this process, which is not stopped. Each run has its own, because
			// its counters are compared with the ledger.
			g := gatewayFor(t, gateway.Options{})
			c, out, stderr := started(t, "load", g.URL(), "--engine", engine, "--rate", "50", "--duration", "3s",
				"--command", "seq 1 5", "--threshold", `first_event.p99 < duration("60ms")`, "--format", "json")
			stderr.after(t, "") // the plan
			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			wantExit(t, stopAndGo(c.Process, ended), exitInconclusive, stderr)
			var r bundle.LoadReport
			if err := json.Unmarshal(out.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			if r.Verdict != bundle.LoadInconclusive || len(r.Thresholds) != 1 || !strings.Contains(r.Thresholds[0].Why, "lag.p99") {
				t.Errorf("%s: %+v", r.Verdict, r.Thresholds)
			}
			if r.Latency.DriverLag.Max < 100_000 {
				t.Errorf("a stop of 200 ms is a delay of %d µs", r.Latency.DriverLag.Max)
			}
		})
	}
}

// stopAndGo stops a process for 200 ms repeatedly until it ends, so that some stop is in the
// middle of its run, and returns its exit error.
func stopAndGo(p *os.Process, ended <-chan error) error {
	for {
		_ = p.Signal(testkit.SIGSTOP)      // it may have ended
		time.Sleep(200 * time.Millisecond) //nolint:forbidigo // as long as the driver must notice
		_ = p.Signal(testkit.SIGCONT)
		select {
		case err := <-ended:
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// holds waits until the metrics of a server have some texts, and returns them.
func holds(t *testing.T, url string, texts ...string) (metrics string) {
	t.Helper()
	testkit.Eventually(t, func() error {
		resp, err := http.Get(url) //nolint:gosec // on this machine
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		all, err := io.ReadAll(resp.Body)
		metrics = string(all)
		for _, text := range texts {
			if err == nil && !strings.Contains(metrics, text) {
				err = fmt.Errorf("%q is not in the metrics", text)
			}
		}
		return err
	})
	return metrics
}

func TestOneSecondInWords(t *testing.T) {
	tick := load.Tick{
		Open: 5000, Rate: 12, FirstEvent: bundle.Latency{Count: 12, P50: 1500, P99: 20250}, Gap: bundle.Latency{Count: 5000, P50: 1_000_000, P99: 1_012_300},
		Failed: 3, Ending: true,
	}
	if got, want := loadLine(tick), "5000 open, 12/s, first event 1.5/20.2 ms, gap 1000.0/1012.3 ms, 3 failed, ending"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := clipped(strings.Repeat("é", 20), 10); got != strings.Repeat("é", 9)+"…" {
		t.Errorf("clipped to %q", got)
	}
}

// Without a terminal, progress is a headline and a line every ten seconds.
func TestLoadLogsEveryTenSeconds(t *testing.T) {
	t.Parallel()
	var err strings.Builder
	p := newLoadProgress(stdio{err: termsafe.Writer{To: &err}}, nil)
	p.Begin("a plan", time.Minute, 0)
	for i := range 25 {
		p.Tick(load.Tick{Elapsed: time.Duration(i+1) * time.Second, Open: int64(i)})
	}
	p.End()
	lines := strings.Split(strings.TrimSpace(err.String()), "\n")
	if len(lines) != 3 || lines[0] != "a plan" || !strings.Contains(lines[2], "20s") {
		t.Errorf("got %q", lines)
	}
}
