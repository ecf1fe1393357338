package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"assay/fakes/gateway"
	"assay/internal/load"
	"assay/internal/load/soak"
	"assay/internal/record/bundle"
	"assay/internal/testkit"
)

// A run killed at any point leaves a bundle with its observations so far that can be
// opened, reported and judged; it is marked as unfinished, and the exit code is 130.
func TestARunKilledAtAnyPointLeavesABundle(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct {
		file string
		than int64
	}{
		"before the first observation":  {"events.jsonl", 0},
		"during the observations":       {"observations.jsonl", 50 << 10},
		"while the verdicts are stored": {"verdicts.json", 0},
		"while the result is stored":    {"result.json", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, stderr := started(t, "conform", "--out", "run", "--select", "area:connect-unary,area:connect-type,area:process-exit")
			dir := filepath.Join(c.Dir, "run")
			waitForFile(t, dir, at.file, at.than)
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait()
			want := 130
			if larger(dir, bundle.ManifestFile, 0) {
				want = 0 // the run had ended
			}
			b, err := bundle.Open(dir)
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			if b.Unfinished != (want == 130) {
				t.Errorf("unfinished is %v", b.Unfinished)
			}
			for _, command := range []string{"report", "judge"} {
				text, code := ran(t, c.Dir, command, "run", "--format", "json")
				if code != want || oneJSON(text) != nil {
					t.Errorf("assay %s ends with %d, want %d\n%s", command, code, want, text)
				}
			}
		})
	}
}

// A killed load run leaves a directory that is reported with what was recorded, as an
// interrupted run, and that the next run replaces.
func TestAKilledLoadRunIsReported(t *testing.T) {
	t.Parallel()
	g := gatewayFor(t, gateway.Options{})
	c, _, stderr := started(t, "load", g.URL(), "--streams", "3", "--duration", "1h", "--out", "run")
	testkit.Eventually(t, func() error {
		s, err := load.Open(filepath.Join(c.Dir, "run"))
		if err == nil && (s.Report.Streams.Opened < 3 || len(s.Intervals) == 0) {
			err = errors.New("there is no second yet, or not all of three streams")
		}
		return err
	})
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	text, code := ran(t, c.Dir, "report", "run", "--format", "json")
	var r bundle.LoadReport
	if err := json.Unmarshal([]byte(text), &r); err != nil || code != 130 {
		t.Fatalf("exit code %d, %v\n%s\n%s", code, err, text, stderr)
	}
	if !r.Interrupted || r.Verdict != bundle.LoadInconclusive || r.Ledger.Started != 3 || r.Ledger.Open != 3 || r.Latency.FirstEvent.Count != 3 {
		t.Errorf("%s, interrupted %v, ledger %+v, first event %+v", r.Verdict, r.Interrupted, r.Ledger, r.Latency.FirstEvent)
	}
	if text, code := ran(t, c.Dir, "report", "run"); code != 130 || !strings.Contains(text, "the run was killed") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	if text, code := ran(t, c.Dir, "verify", "run"); code != 1 || !strings.Contains(text, "unfinished") || strings.Contains(text, "unreadable") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	if text, code := ran(t, c.Dir, "load", "--streams", "1", "--count", "1", "--out", "run"); code != 0 {
		t.Errorf("the next run: exit code %d\n%s", code, text)
	}
}

// waitForFile waits until a file of a run is larger.
func waitForFile(t *testing.T, dir, file string, than int64) {
	t.Helper()
	testkit.Eventually(t, func() error {
		if !larger(dir, file, than) {
			return fmt.Errorf("%s has at most %d bytes", file, than)
		}
		return nil
	})
}

func larger(dir, file string, than int64) bool {
	info, err := os.Stat(filepath.Join(dir, file))
	return err == nil && info.Size() > than
}

// ran runs the program in a directory until it exits.
func ran(t *testing.T, dir string, args ...string) (stdout string, code int) {
	t.Helper()
	c, out, _ := program(t, args...)
	c.Dir = dir
	err := c.Run()
	if err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), c.ProcessState.ExitCode()
}

// No file of the bundle contains the token of the run.
func TestNoTokenIsInTheBundle(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-0123456789abcdef" //nolint:gosec // a token of the test
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	// The embedded gateway requires the token of the run.
	text, code := ran(t, dir, "conform", "--token-file", "token", "--select", "area:connect-unary,area:process-exit,area:auth-token", "--out", "run")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	wantNoSecret(t, filepath.Join(dir, "run"), []string{secret})
}

// A file that cannot grow (a full disk, a quota) does not change the printed verdicts; the
// exit code and a note report it, and the written part can be opened.
func TestAFullDiskLosesNoVerdict(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no shell to limit the size of files")
	}
	c, out, stderr := program(t, "conform", "--out", "run", "--select", "area:connect-unary,area:process-exit")
	// 96 blocks of 512 or 1,024 bytes: enough for the beginning only.
	c.Args = append([]string{"sh", "-c", `ulimit -f 96 && exec "$0" "$@"`, c.Path}, c.Args[1:]...)
	c.Path = "/bin/sh"
	wantExit(t, c.Run(), 4, stderr)
	for _, part := range []string{"PARTIAL", "the evidence could not be written completely", "observations.jsonl"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the report lacks %q:\n%s", part, out)
		}
	}
	if !strings.Contains(stderr.String(), "file too large") {
		t.Errorf("stderr does not say why:\n%s", stderr)
	}
	if text, code := ran(t, c.Dir, "report", "run"); code != 130 || !strings.Contains(text, "INTERRUPTED") {
		t.Errorf("its report ends with %d, want 130:\n%s", code, text)
	}
}

// A killed soak goes on in its folder, and names the gap.
func TestAKilledSoakIsResumed(t *testing.T) {
	t.Parallel()
	g := gatewayFor(t, gateway.Options{})
	// Four windows are too few for a trend: exit code 5. Under the race detector, windows of 2 s can end before the soak is killed.
	seconds := func(n int) string { return strconv.Itoa(n*testkit.Slowdown) + "s" }
	c, _, stderr := started(t, "soak", g.URL(), "--duration", seconds(8), "--window", seconds(2), "--out", "run")
	windows := func() int {
		r, err := soak.Open(filepath.Join(c.Dir, "run"))
		if err != nil {
			return 0
		}
		return len(r.Windows)
	}
	testkit.Eventually(t, func() error {
		if windows() == 0 {
			return errors.New("there is no window yet")
		}
		return nil
	})
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	before := windows()
	if text, code := ran(t, c.Dir, "report", "run"); code != 130 || !strings.Contains(text, "--resume continues it") {
		t.Errorf("exit code %d\n%s\n%s", code, text, stderr)
	}
	text, code := ran(t, c.Dir, "soak", g.URL(), "--resume", "run", "--format", "json")
	var r bundle.SoakReport
	if err := json.Unmarshal([]byte(text), &r); err != nil || code != 5 {
		t.Fatalf("exit code %d, %v\n%s", code, err, text)
	}
	if len(r.Windows) <= before || len(r.Gaps) != 1 || r.Interrupted || r.Windows[before].Index != before+1 || r.Totals.Outcomes.Failed() > 0 {
		t.Errorf("%d windows, gaps %+v, interrupted %v, outcomes %v", len(r.Windows), r.Gaps, r.Interrupted, r.Totals.Outcomes)
	}
}
