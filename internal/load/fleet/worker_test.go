package fleet

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/record/bundle"
	"assay/internal/testkit"
)

// A worker that was there long before its run takes part: only from then on may the coordinator be silent.
func TestAWorkerThatWaitedLongTakesPart(t *testing.T) {
	t.Parallel()
	b := startBus(t)
	bus := b.bus()
	var ahead atomic.Int64
	var w team
	w.come(t.Context(), WorkerOptions{
		Bus: bus, Run: "long", Shard: -1, Wait: time.Minute, Worker: load.Worker{Engines: []load.Engine{&scripted{}}},
		Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	testkit.Eventually(t, func() error {
		if b.clients() == 0 {
			return errors.New("the worker is not there")
		}
		return nil
	})
	ahead.Store(int64(2 * deserted))
	o := mixed(t, &scripted{}, 100, time.Second)
	o.Workers, o.Fleet = 1, New(Options{Version: testVersion, Bus: &bus, Run: "long", Wait: time.Minute})
	r, err := load.Run(t.Context(), o)
	w.Wait()
	if err != nil || r.Verdict != bundle.LoadPass || w.errs[0] != nil {
		t.Errorf("%v, %.500v, the worker ends with %v", err, r, w.errs[0])
	}
}

// The error of a clock is a bound also when the process stands still after it has read its own clock.
func TestTheErrorOfAClockIsABound(t *testing.T) {
	t.Parallel()
	bus := startBus(t).bus()
	nc, err := bus.connect(t.Context(), "test", 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := tellTime(nc.Conn, "clock", time.Now); err != nil {
		t.Fatal(err)
	}
	off, err := measure(t.Context(), nc, "clock", func() time.Time {
		now := time.Now()
		load.Sleep(t.Context(), 30*time.Millisecond) // as a process that is not scheduled
		return now
	})
	if err != nil || off.Offset.Abs() > off.Error {
		t.Errorf("%v ± %v, want 0 within the error; %v", off.Offset, off.Error, err)
	}
}

// A run that ends after it has published a plan ends its workers too, although nobody tells them the time any more.
func TestARunThatEndsBeforeABarrierIsNoError(t *testing.T) {
	t.Parallel()
	bus := startBus(t).bus()
	nc, err := bus.connect(t.Context(), "test", 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for key, ended := range map[string]bool{keyEnd: true, keyStop(3): true, keyStop(2): false} {
		w := &worker{opts: WorkerOptions{Now: time.Now}, nc: nc, names: names{"over"}, keys: map[string][]byte{key: nil}}
		if _, ok, err := w.barrier(t.Context(), 3); ok || (err == nil) != ended {
			t.Errorf("with %s: %v, %v", key, ok, err)
		}
	}
}

// isEngine reports whether an error is a defect of this machine.
func isEngine(err error) bool {
	var engine *load.EngineError
	return errors.As(err, &engine)
}

// A worker process that does not come up is a defect of this machine, and no mistake of the user.
func TestAWorkerProcessThatEndsAtOnceIsADefect(t *testing.T) {
	t.Parallel()
	o := mixed(t, &scripted{}, 100, time.Second)
	o.Workers, o.Fleet = 2, New(Options{Version: testVersion, Line: []string{os.Args[0], "-test.run=^$"}})
	_, err := load.Run(t.Context(), o)
	if !isEngine(err) || !strings.Contains(err.Error(), "worker process ") || !strings.Contains(err.Error(), "its process ended") {
		t.Error(err)
	}
}

// Runs that fail at the same time do not share anything.
func TestFleetsFailApart(t *testing.T) {
	t.Parallel()
	f := New(Options{Version: testVersion, Line: []string{os.Args[0] + "-is-not-there"}})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if _, err := f.Gather(context.Background(), load.Order{Job: load.Job{Run: "apart", Parts: 1}}); !errors.Is(err, os.ErrNotExist) || !isEngine(err) {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
