package zoo

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"assay/fakes/gatewaytest"
	"assay/internal/testkit"
)

func TestFaultsOfASoakGrow(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	descriptors := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc here")
		}
		return len(all)
	}
	for id, c := range map[string]struct {
		of     func() int
		starts int
		grows  int
	}{
		"leaks-descriptors": {descriptors, 1000, 2},
		"leaks-goroutines":  {runtime.NumGoroutine, 300, 3},
	} {
		b := &build{}
		for _, f := range soakFaults() {
			if f.ID == id {
				f.install(b)
			}
		}
		table := b.Seams.Table(nil)
		before := c.of()
		for range c.starts {
			table.(startHook).before()
		}
		if got := c.of() - before; got != c.grows {
			t.Errorf("%s: %d more after %d starts, want %d", id, got, c.starts, c.grows)
		}
		if b.Seams.Close != nil {
			_ = b.Seams.Close()
		}
	}
}

func TestAStartSlowsDownByOnePercentAMinute(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	s := &slowdown{began: at, now: func() time.Time { return at }}
	if got := s.delay(); got != 50*time.Millisecond {
		t.Errorf("at first %v", got)
	}
	at = at.Add(20 * time.Minute)
	if got := s.delay().Round(100 * time.Microsecond); got != 61*time.Millisecond {
		t.Errorf("after 20 minutes %v, want 61 ms", got)
	}
}

// A gateway with such a fault answers like the reference.
func TestAGatewayWithAFaultOfASoakAnswers(t *testing.T) {
	t.Parallel()
	var ids []string
	for _, f := range SoakFaults() {
		if f.Title == "" || f.Source == "" || len(f.Breaks) > 0 {
			t.Errorf("fault %+v is not described, or breaks a rule", f)
		}
		ids = append(ids, f.ID)
	}
	if !slices.IsSorted(ids) {
		t.Errorf("not sorted: %v", ids)
	}
	g := startGateway(t, Options{Faults: ids})
	a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("echo x")), gatewaytest.Streaming)
	if ev := a.Events(t); len(ev) != 3 || ev[2]["end"] == nil {
		t.Errorf("events %v, want start, data, end", ev)
	}
}
