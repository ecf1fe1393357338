package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/load"
)

// After an interrupt everything is killed, stdout holds exactly one JSON value that
// says so, the files hold the same, and the exit code is 130.
func TestInterruptedLoadKillsAndReports(t *testing.T) {
	for name, sig := range map[string]os.Signal{"SIGINT": os.Interrupt, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			c, out, _ := program(t, "load", "--streams", "50", "--duration", "1h", "--format", "json", "--out", dir)
			began := make(chan struct{})
			c.Stderr = &firstWrite{began: began}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			select {
			case <-began: // the headline: streams are about to be opened
			case <-time.After(30 * time.Second):
				t.Error("nothing on stderr within 30 s")
			}
			time.Sleep(200 * time.Millisecond) // another process; nothing to wait on
			begun := time.Now()
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			err := c.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
				t.Fatalf("ended with %v, want exit code 130", err)
			}
			if took := time.Since(begun); took > 12*time.Second {
				t.Errorf("it took %v to end", took)
			}
			if err := oneJSON(out.String()); err != nil {
				t.Fatalf("stdout: %v", err)
			}
			var r load.Report
			if err := json.Unmarshal(out.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			if !r.Interrupted || r.Ledger.Open != 0 || r.Streams.Completed == 0 || r.Ledger.Killed != r.Ledger.Started {
				t.Errorf("interrupted %v, streams %+v, ledger %+v", r.Interrupted, r.Streams, r.Ledger)
			}
			var kept load.Report
			if text, err := os.ReadFile(filepath.Join(dir, "load.json")); err != nil || json.Unmarshal(text, &kept) != nil || kept.Streams != r.Streams {
				t.Errorf("load.json: %v, %+v", err, kept.Streams)
			}
		})
	}
}

// firstWrite closes began at the first write.
type firstWrite struct {
	began chan struct{}
	done  bool
}

func (w *firstWrite) Write(p []byte) (int, error) {
	if !w.done {
		w.done = true
		close(w.began)
	}
	return len(p), nil
}

func TestOneSecondInWords(t *testing.T) {
	tick := load.Tick{
		Open: 5000, Rate: 12, FirstEvent: load.Latency{Count: 12, P50: 1500, P99: 20250}, Gap: load.Latency{Count: 5000, P50: 1_000_000, P99: 1_012_300},
		Failed: 3, Winding: true,
	}
	if got, want := loadLine(tick), "5000 open, 12/s, first event 1.5/20.2 ms, gap 1000.0/1012.3 ms, 3 failed, ending"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := clipped(strings.Repeat("é", 20), 10); got != strings.Repeat("é", 9)+"…" {
		t.Errorf("clipped to %q", got)
	}
}

// Off a terminal there is a headline, and a line every ten seconds.
func TestLoadLogsEveryTenSeconds(t *testing.T) {
	var err strings.Builder
	p := newLoadProgress(stdio{err: &err})
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
