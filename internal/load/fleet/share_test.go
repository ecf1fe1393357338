package fleet

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/load"
	"assay/internal/record/bundle"
)

// conduct runs a load run with so many workers of a test, as goroutines, over a bus.
func conduct(t *testing.T, b Bus, name string, e *scripted, o load.Options, workers int) *bundle.LoadReport {
	t.Helper()
	o.Workers = workers
	o.Fleet = New(Options{Version: testVersion, Bus: &b, Run: name, Wait: 30 * time.Second})
	var w team
	for range workers {
		w.come(t.Context(), WorkerOptions{Bus: b, Run: name, Shard: -1, Worker: load.Worker{Engines: []load.Engine{e}}})
	}
	r, err := load.Run(t.Context(), o)
	w.Wait()
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range w.errs {
		if err != nil {
			t.Error(err)
		}
	}
	return r
}

// One, two and four workers issue the same operations, and come to the same verdict and the same histograms, which are those of
// a run without workers.
func TestAnyNumberOfWorkersDoesTheSame(t *testing.T) {
	t.Parallel()
	alone := &scripted{}
	o := mixed(t, alone, 400, 1500*time.Millisecond)
	want, err := load.Run(t.Context(), o)
	if err != nil || want.Verdict != bundle.LoadPass {
		t.Fatalf("%v, %+v", err, want)
	}
	b := startBus(t)
	for _, n := range []int{1, 2, 4} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			e, o := &scripted{}, o
			o.Engine = e
			r := conduct(t, b.bus(), "same-"+strconv.Itoa(n), e, o, n)
			if d := cmp.Diff(alone.done, e.done); d != "" || len(e.done) < 100 {
				t.Errorf("%d workers: %d other operations:\n%s", n, len(e.done), d)
			}
			if d := cmp.Diff(want.Curves, r.Curves); d != "" {
				t.Errorf("%d workers: other histograms:\n%s", n, d)
			}
			if d := cmp.Diff(want.Latency, r.Latency); d != "" {
				t.Errorf("%d workers: other latencies:\n%s", n, d)
			}
			if r.Verdict != want.Verdict || r.Streams.Outcomes != want.Streams.Outcomes || r.Ledger != want.Ledger || r.Output != want.Output || cmp.Diff(want.Thresholds, r.Thresholds) != "" {
				t.Errorf("%d workers: %s %+v %+v %+v, want %s %+v %+v", n, r.Verdict, r.Streams, r.Ledger, r.Reasons, want.Verdict, want.Streams, want.Ledger)
			}
			for i := range r.Classes {
				if d := cmp.Diff(want.Classes[i], r.Classes[i]); d != "" {
					t.Errorf("%d workers: another class:\n%s", n, d)
				}
			}
			shards := map[int]bool{}
			for _, w := range r.Workers {
				shards[w.Shard] = true
				if w.Lost != "" || w.Windows < 2 || w.Begun == 0 || w.Begun != w.Completed || w.Version != testVersion || w.OffsetErrorUS <= 0 {
					t.Errorf("worker %+v", w)
				}
			}
			if len(shards) != n || len(e.began) != n {
				t.Errorf("%v took part, want %d", maps.Keys(shards), n)
			}
		})
	}
}

// A worker whose clock is three seconds behind begins with the others.
func TestClocksThatAreApartAreCorrected(t *testing.T) {
	t.Parallel()
	b := startBus(t)
	bus := b.bus()
	e := &scripted{}
	o := mixed(t, e, 50, time.Second)
	o.Workers, o.Fleet = 3, New(Options{Version: testVersion, Bus: &bus, Run: "clocks", Wait: 30 * time.Second})
	var w team
	for i, behind := range []time.Duration{3 * time.Second, 0, -3 * time.Second} {
		w.come(t.Context(), WorkerOptions{
			Bus: bus, Run: "clocks", Shard: i, Worker: load.Worker{Engines: []load.Engine{e}}, Now: func() time.Time { return time.Now().Add(-behind) },
		})
	}
	r, err := load.Run(t.Context(), o)
	w.Wait()
	if err != nil || r.Verdict != bundle.LoadPass {
		t.Fatalf("%v, %+v", err, r)
	}
	for i, want := range []time.Duration{3 * time.Second, 0, -3 * time.Second} {
		got := r.Workers[i]
		off, bound := time.Duration(got.OffsetUS)*time.Microsecond, time.Duration(got.OffsetErrorUS+50)*time.Microsecond
		if (off - want).Abs() > bound {
			t.Errorf("worker %d is %v behind ± %v, want %v", i, off, bound, want)
		}
	}
	for _, at := range e.began {
		if apart := at.Sub(e.began[0]).Abs(); apart > time.Second {
			t.Errorf("the workers began %v apart", apart)
		}
	}
}

// The offset is that of the shortest round trip, and its error half of that.
func TestTheNearestTripCounts(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	got := nearest([]trip{
		{at, 100 * time.Millisecond, at.Add(5 * time.Second)},
		{at, 10 * time.Millisecond, at.Add(3*time.Second + 2*time.Millisecond)},
		{at, 40 * time.Millisecond, at.Add(time.Second)},
	})
	want := offset{3*time.Second - 3*time.Millisecond, 5 * time.Millisecond}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
