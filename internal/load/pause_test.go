//go:build linux

package load

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"assay/internal/machine"
	"assay/internal/target"
)

// stands reports whether a process is stopped.
func stands(t *testing.T, pid int) bool {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), ") T ")
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// A pause stops every worker, and its end, also that of the run, lets them go on.
func TestAPauseStopsTheWorkers(t *testing.T) {
	for name, length := range map[string]time.Duration{"its time": 50 * time.Millisecond, "the end of the run": time.Hour} {
		var workers []*worker
		for range 2 {
			cmd := exec.CommandContext(t.Context(), "sleep", "60")
			cmd.SysProcAttr = machine.OwnGroup()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
			workers = append(workers, &worker{cmd: cmd})
		}
		ctx, cancel := context.WithCancel(t.Context())
		wait := (&Pause{At: time.Millisecond, For: length}).pause(ctx, workers)
		for _, w := range workers {
			if length == time.Hour {
				until(t, "it is not stopped", func() bool { return stands(t, w.cmd.Process.Pid) })
			}
		}
		if length == time.Hour {
			cancel()
		}
		wait()
		for _, w := range workers {
			until(t, name+" does not let it go on", func() bool { return !stands(t, w.cmd.Process.Pid) })
		}
		cancel()
	}
}

func TestAPauseNeedsAWorker(t *testing.T) {
	_, err := Run(t.Context(), Options{Target: target.Options{URL: "http://127.0.0.1:1"}, Engine: stub{}, Pause: &Pause{}, Streams: 1, Duration: time.Second})
	if err == nil || !strings.Contains(err.Error(), "a pause needs worker processes") {
		t.Errorf("%v", err)
	}
}
