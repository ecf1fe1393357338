package selftest

import (
	"context"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"assay/fakes/zoo"
	"assay/internal/record/bundle"
)

// The environment variables of the test under load.
const (
	envNightly = "ASSAY_NIGHTLY"   // set: the test runs; otherwise it is skipped
	envBurn    = "ASSAY_BUSY_BURN" // set for a child that keeps a processor busy
)

// burners is the number of processes that keep the machine busy: more than the two processors of a
// small machine.
const burners = 3

// longest is the time after which a burner ends by itself if its parent does not end it.
const longest = 4 * time.Hour

func TestMain(m *testing.M) {
	if os.Getenv(envBurn) != "" {
		burn()
		return
	}
	os.Exit(m.Run())
}

// burn keeps one processor busy until stdin ends, which it does when the parent ends.
func burn() {
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	for end := time.Now().Add(longest); time.Now().Before(end); {
		select {
		case <-over:
			return
		default:
		}
	}
}

// StartBurners starts so many burners, and ends them with the test.
func StartBurners(t *testing.T, n int) {
	t.Helper()
	for range n {
		c := exec.Command(os.Args[0]) //nolint:gosec // this test binary; it is ended below
		c.Env = append(os.Environ(), envBurn+"=1")
		stdin, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = stdin.Close()
			_ = c.Process.Kill()
			_ = c.Wait()
		})
	}
}

// A correct gateway on an overloaded machine is never blamed: at most, a verdict is inconclusive.
// Each round runs every scenario on one set of axes, in each round on another: the rounds of a day follow those of the day
// before, so that a week of nights runs everything. Three rounds on two cores take about half an hour.
func TestNothingRightIsBlamedUnderLoad(t *testing.T) {
	if os.Getenv(envNightly) == "" {
		t.Skip("takes long; " + envNightly + "=1 runs it")
	}
	tester, err := newTester(Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if tester.baseline, err = tester.reference(t.Context()); err != nil {
		t.Fatal(err)
	}
	gateways := append([]zoo.Variant{{}}, zoo.Variants()...) // the first is the reference
	StartBurners(t, burners)
	const rounds = 3
	for round := range uint(rounds) {
		err := tester.each(t.Context(), len(gateways), func(ctx context.Context, n int) error {
			tr := &trial{name: "reference"}
			if id := gateways[n].ID; id != "" {
				tr.name, tr.options.Variants = id, []string{id}
			}
			if _, err := tester.look(ctx, tr, tester.opts.Jobs, due(gateways[n].ID, tester.all, day()*rounds+round, 1)); err != nil {
				return err
			}
			open := maps.Clone(tr.verdicts)
			maps.DeleteFunc(open, func(k key, v bundle.Verdict) bool { return v.Conclusion != bundle.Inconclusive || !tester.counts(k) })
			t.Logf("round %d of %d, %s: %d verdicts, %d of them inconclusive:\n%s", round+1, rounds, tr.name, len(tr.verdicts), len(open), strings.Join(told(open), "\n"))
			for _, words := range told(tester.unfair(tr.verdicts)) {
				t.Errorf("%s, which is legal: %s", tr.name, words)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}
