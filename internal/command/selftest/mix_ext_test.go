package selftest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/command/selftest"
)

// program is what `make build` makes.
const program = "../../../bin/assay"

// In a mix of what a busy machine does (builds, loads, browsers, a disk that is written, and processes that only burn, for a load
// above 70) many runs at once may find that they can judge little, and blame the reference gateway for nothing.
func TestNothingRightIsBlamedInAMix(t *testing.T) {
	if os.Getenv("ASSAY_NIGHTLY") == "" {
		t.Skip("takes long: make nightly PART=mix runs it")
	}
	const together = 8
	rounds := 3
	if s := os.Getenv("ASSAY_MIX_ROUNDS"); s != "" {
		var err error
		if rounds, err = strconv.Atoi(s); err != nil || rounds < 1 {
			t.Fatalf("ASSAY_MIX_ROUNDS=%q: want a number of rounds", s)
		}
	}
	assay, err := filepath.Abs(program)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir() // is removed after what follows
	// The variables of the tests are no flags of the program.
	clean := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "ASSAY_") })
	selftest.StartBurners(t, 40)
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	t.Cleanup(others.Wait)
	t.Cleanup(stop)
	again := func(env string, line ...string) {
		if _, err := exec.LookPath(line[0]); err != nil {
			t.Logf("without %s, which is not installed", line[0])
			return
		}
		dir := t.TempDir()
		others.Go(func() {
			for ctx.Err() == nil {
				c := exec.CommandContext(ctx, line[0], line[1:]...) //nolint:gosec // of this test
				c.Env, c.WaitDelay = append(slices.Clone(clean), strings.ReplaceAll(env, "$DIR", dir)), time.Second
				if c.Run() != nil {
					_ = exec.CommandContext(ctx, "sleep", "1").Run() // what fails at once is no load
				}
			}
		})
	}
	for range 2 {
		again("GOCACHE=$DIR", "go", "build", "-a", "assay/internal/engine")
		again("", "chromium-headless-shell", "--no-sandbox", "--headless", "--screenshot="+filepath.Join(root, "page.png"), "--virtual-time-budget=3000", "file:///")
	}
	for range 4 {
		again("", assay, "load", "--streams", "400", "--duration", "20s")
	}
	again("", "dd", "if=/dev/zero", "of="+filepath.Join(root, "disk"), "bs=1M", "count=500", "conv=fsync")

	for round := range rounds {
		var runs sync.WaitGroup
		for range together {
			runs.Go(func() {
				began := time.Now()
				c := exec.CommandContext(ctx, assay, "conform", "--quiet") //nolint:gosec // of this test
				c.Env = clean
				out, err := c.CombinedOutput()
				var exit *exec.ExitError
				code := 0
				if errors.As(err, &exit) {
					code = exit.ExitCode()
				} else if err != nil {
					t.Error(err)
					return
				}
				t.Logf("round %d: exit code %d after %v", round+1, code, time.Since(began).Round(time.Second))
				if code != 0 && code != 5 {
					t.Errorf("exit code %d, want 0 or 5\n%s", code, out)
				}
			})
		}
		runs.Wait()
	}
}
