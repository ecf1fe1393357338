package selftest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"assay/fakes/zoo"
	"assay/internal/bundle"
)

// The environment variables of the test under load.
const (
	envNightly  = "ASSAY_NIGHTLY"       // set: the test runs; otherwise it is skipped
	envRounds   = "ASSAY_BUSY_ROUNDS"   // number of rounds, default 3
	envVariants = "ASSAY_BUSY_VARIANTS" // ids of variants, joined by commas; default the reference gateway and all variants
	envBurn     = "ASSAY_BUSY_BURN"     // set for a child that keeps a processor busy
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
		t.Skip("takes long; " + envNightly + "=1 runs it, " + envRounds + " and " + envVariants + " limit it")
	}
	rounds, variants := busyOptions(t)
	tester, err := newTester(Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if tester.baseline, err = tester.reference(t.Context()); err != nil {
		t.Fatal(err)
	}
	StartBurners(t, burners)
	first := day() * uint(rounds)
	total := make([]tally, len(variants))
	for round := range uint(rounds) {
		err := tester.each(t.Context(), len(variants), func(ctx context.Context, n int) error {
			fo := zoo.Options{}
			if variants[n] != "" {
				fo.Variants = variants[n : n+1]
			}
			tr := &trial{name: gatewayName(variants[n]), options: fo}
			if _, err := tester.look(ctx, tr, tester.opts.Jobs, due(variants[n], tester.all, first+round, 1)); err != nil {
				return err
			}
			before := len(total[n].blame)
			total[n].add(tester, tr.verdicts)
			t.Logf("round %d of %d, %s: %s", round+1, rounds, gatewayName(variants[n]), &total[n])
			for _, words := range total[n].blame[before:] {
				t.Errorf("%s, which is legal: %s", gatewayName(variants[n]), words)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	t.Log("\n" + busyTable(variants, total))
}

// busyOptions returns the number of rounds and the variants, "" for the reference gateway.
func busyOptions(t *testing.T) (rounds int, variants []string) {
	t.Helper()
	rounds, variants = 3, []string{""}
	if s := os.Getenv(envRounds); s != "" {
		var err error
		if rounds, err = strconv.Atoi(s); err != nil || rounds < 1 {
			t.Fatalf("%s=%q: want a number of rounds", envRounds, s)
		}
	}
	var ids []string
	for _, v := range zoo.Variants() {
		ids = append(ids, v.ID)
	}
	if s := os.Getenv(envVariants); s != "" {
		want := strings.Split(s, ",")
		if err := known("variant", want, ids); err != nil {
			t.Fatalf("%s: %v", envVariants, err)
		}
		return rounds, want
	}
	return rounds, append(variants, ids...)
}

func gatewayName(variant string) string {
	if variant == "" {
		return "reference"
	}
	return variant
}

// tally sums up all rounds of a gateway.
type tally struct {
	ran, inconclusive int      // scenarios on a set of axes
	blame             []string // messages
	// open counts the scenarios that could not be judged.
	open map[string]int
}

func (y *tally) String() string {
	return fmt.Sprintf("%d scenarios, %d inconclusive, %d blamed", y.ran, y.inconclusive, len(y.blame))
}

func (y *tally) add(t *tester, all verdicts) {
	instances, open := map[key]bool{}, map[key]bool{}
	for k, v := range all {
		if k.scenario == "" {
			continue
		}
		at := key{scenario: k.scenario, axes: k.axes}
		instances[at] = true
		if v.Conclusion == bundle.Inconclusive && t.counts(k) {
			open[at] = true
		}
	}
	if y.open == nil {
		y.open = map[string]int{}
	}
	for k := range open {
		y.open[k.scenario]++
	}
	y.ran += len(instances)
	y.inconclusive += len(open)
	y.blame = append(y.blame, told(t.unfair(all))...)
}

// busyTable draws one line for each gateway, and below them the inconclusive scenarios, the most frequent first.
func busyTable(variants []string, total []tally) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	open := map[string]int{}
	_, _ = fmt.Fprintln(w, "gateway\tscenarios\tinconclusive\tblamed")
	for n := range total {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", gatewayName(variants[n]), total[n].ran, total[n].inconclusive, len(total[n].blame))
		for id, times := range total[n].open {
			open[id] += times
		}
	}
	_, _ = fmt.Fprintln(w, "\ninconclusive\ttimes")
	ids := make([]string, 0, len(open))
	for id := range open {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		if open[a] != open[b] {
			return open[b] - open[a]
		}
		return strings.Compare(a, b)
	})
	for _, id := range ids {
		_, _ = fmt.Fprintf(w, "%s\t%d\n", id, open[id])
	}
	_ = w.Flush()
	return b.String()
}

// An inconclusive scenario counts once, whatever the number of its rules. A scenario that is
// inconclusive on the reference does not count.
func TestTheTableUnderLoad(t *testing.T) {
	tester := blamed(said(saying{"a.exit", exitCode, bundle.Pass, ""}, saying{"a.exit", tail, bundle.Pass, ""},
		saying{"a.tail", tail, bundle.Pass, ""}, saying{"a.open", tail, bundle.Inconclusive, ""}))
	var y tally
	for range 2 {
		y.add(tester, said(saying{"a.exit", exitCode, bundle.Inconclusive, ""}, saying{"a.exit", tail, bundle.Inconclusive, ""},
			saying{"a.tail", tail, bundle.Fail, bundle.SymptomTime}, saying{"a.open", tail, bundle.Inconclusive, ""}))
	}
	if got := y.String(); got != "6 scenarios, 2 inconclusive, 2 blamed" {
		t.Error(got)
	}
	want := "gateway    scenarios  inconclusive  blamed\nreference  6          2             2\n\ninconclusive  times\na.exit        2\n"
	if got := busyTable([]string{""}, []tally{y}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
