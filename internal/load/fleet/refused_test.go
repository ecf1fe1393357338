package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/record/bundle"
	"assay/internal/testkit"
)

// Workers of another version, and for a shard that is taken, are refused, and the coordinator says so; the run goes on.
func TestWorkersAreRefused(t *testing.T) {
	t.Parallel()
	b := startBus(t).bus()
	var said lines
	e := &scripted{}
	o := mixed(t, e, 100, time.Second)
	o.Workers, o.Fleet = 2, New(Options{Version: testVersion, Bus: &b, Run: "refusing", Wait: time.Minute, Say: said.say})
	ended := started(t, o)
	worker := func(shard int, version string) WorkerOptions {
		return WorkerOptions{Bus: b, Run: "refusing", Shard: shard, Version: version, Worker: load.Worker{Engines: []load.Engine{e}}}
	}
	refused := func(err error, what string) {
		t.Helper()
		var r *RefusedError
		if !errors.As(err, &r) || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want it refused: %s", err, what)
		}
	}
	refused(Work(t.Context(), worker(-1, "0.9")), "this worker has version 0.9, and the run refusing is of version "+testVersion)
	refused(Work(t.Context(), worker(7, testVersion)), "there is no shard 7")
	var w team
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	w.come(ctx, worker(1, testVersion))
	untilTaken(t, b, "refusing", 1)
	refused(Work(t.Context(), worker(1, testVersion)), "shard 1 of the run refusing is taken by process")
	w.come(ctx, worker(-1, testVersion))
	r, err := ended()
	w.Wait()
	if err != nil || r.Verdict != bundle.LoadPass {
		t.Errorf("%v, %+v", err, r)
	}
	refused(Work(t.Context(), worker(-1, testVersion)), "has begun")
	for _, want := range []string{"is refused: this worker has version 0.9", "is refused: shard 1 of the run refusing is taken"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the coordinator said %s, want %q in it", &said, want)
		}
	}
}

// untilTaken waits until a worker has a shard of a run that is on the bus.
func untilTaken(t *testing.T, b Bus, run string, shard int) {
	t.Helper()
	nc, err := b.connect(t.Context(), "test", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	w := &worker{opts: WorkerOptions{Bus: b}, names: names{run}, nc: nc}
	if err := w.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, func() error {
		if there, err := w.stored(t.Context(), keyJoin(shard, 1), new(join)); !there {
			return errors.Join(fmt.Errorf("nobody has shard %d", shard), err)
		}
		return nil
	})
}

// A worker that goes away before the start leaves its shard to another one, at once if it says so, and else when it has been silent.
func TestAShardIsFreeAgainBeforeTheStart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		leaves func(ctx context.Context, o WorkerOptions) error
		says   string
	}{
		"interrupted": {func(ctx context.Context, o WorkerOptions) error {
			ctx, leave := context.WithCancel(ctx)
			defer leave()
			o.Worker.Engines = []load.Engine{asked{o.Worker.Engines[0], leave}}
			return Work(ctx, o)
		}, "it was interrupted on its machine"},
		"unable": {func(ctx context.Context, o WorkerOptions) error {
			o.Worker.Engines = nil
			return Work(ctx, o)
		}, `there is no engine "scripted"`},
		"silent": {joinOnly, "nothing was heard of it for 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBus(t).bus()
			var said lines
			e := &scripted{}
			o := mixed(t, e, 100, time.Second)
			f := New(Options{Version: testVersion, Bus: &b, Run: "again", Wait: 2 * time.Minute, Patience: time.Minute, Say: said.say})
			f.opts.patienceOf = func(shard, attempt int) time.Duration {
				if shard == 0 && attempt == 1 && name == "silent" {
					return time.Second
				}
				return time.Minute
			}
			o.Workers, o.Fleet = 2, f
			worker := WorkerOptions{Bus: b, Run: "again", Shard: 0, Version: testVersion, Wait: time.Minute, Worker: load.Worker{Engines: []load.Engine{e}}}
			ended := started(t, o)
			if err := tt.leaves(t.Context(), worker); name != "silent" && err == nil {
				t.Error("it ends without an error")
			}
			testkit.Eventually(t, func() error {
				if !strings.Contains(said.String(), "another one can take its place") {
					return fmt.Errorf("it said %s", &said)
				}
				return nil
			})
			var w team
			for shard := range 2 { // only now, since the run begins as soon as every shard has a worker
				worker.Shard = shard
				w.come(t.Context(), worker)
			}
			r, err := ended()
			w.Wait()
			if err != nil || r.Verdict != bundle.LoadPass || !strings.Contains(said.String(), strings.ReplaceAll(tt.says, `"`, `\"`)) {
				t.Errorf("%v, %.500v, it said %.2000s", err, r, &said)
			}
		})
	}
}

// asked is an engine that calls a function when a worker looks for it: it has a shard and a plan then.
type asked struct {
	load.Engine

	by func()
}

func (a asked) Name() string {
	a.by()
	return a.Engine.Name()
}

// joinOnly takes a shard, and is not heard any more.
func joinOnly(ctx context.Context, o WorkerOptions) error {
	w := &worker{opts: o, names: names{o.Run}, keys: map[string][]byte{}, changed: make(chan struct{}, 1)}
	var err error
	if w.nc, err = o.Bus.connect(ctx, "test", o.Wait); err != nil {
		return err
	}
	defer w.nc.Close()
	if err := w.enter(ctx, time.Now().Add(o.Wait)); err != nil {
		return err
	}
	return w.join(ctx)
}

// Nobody starts the workers of this machine by hand.
func TestARunWithoutItsOwnWorkersIsADefect(t *testing.T) {
	t.Parallel()
	h := &coordinator{opts: New(Options{}).opts, workers: make([]workerState, 1), embedded: &embedded{}, nc: &link{}}
	var bus *BusError
	if err := h.missing(); errors.As(err, &bus) || strings.Contains(err.Error(), "assay worker") {
		t.Error(err)
	}
}

// The error of a run that waits in vain has the reason of a worker that could not begin.
func TestARunSaysWhyAWorkerIsMissing(t *testing.T) {
	t.Parallel()
	b := startBus(t).bus()
	o := mixed(t, &scripted{}, 100, time.Second)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	h, err := open(ctx, New(Options{Version: testVersion, Bus: &b, Run: "unable", Wait: time.Minute}).opts, load.Order{Job: load.Job{Run: "unable", Parts: 1, Engine: "other"}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	h.opts.Warn = func(string) { stop() }
	var w team
	w.come(t.Context(), WorkerOptions{Bus: b, Run: "unable", Shard: -1, Wait: time.Minute})
	if _, err := h.gather(ctx, load.Order{Job: load.Job{Parts: 1, Engine: "other", Schedule: load.Schedule{Duration: o.Duration}}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.Wait()
	if err := h.missing(); !strings.Contains(err.Error(), `was lost: there is no engine "other"`) {
		t.Error(err)
	}
}

// An engine that fails is a defect, and the worker is named.
func TestAnEngineThatFailsIsNamed(t *testing.T) {
	t.Parallel()
	b := startBus(t).bus()
	e := &scripted{fails: true}
	o := mixed(t, e, 100, time.Second)
	o.Workers, o.Fleet = 1, New(Options{Version: testVersion, Bus: &b, Run: "failing", Wait: time.Minute})
	var w team
	w.come(t.Context(), WorkerOptions{Bus: b, Run: "failing", Shard: -1, Worker: load.Worker{Engines: []load.Engine{e}}})
	_, err := load.Run(t.Context(), o)
	w.Wait()
	if !isEngine(w.errs[0]) {
		t.Errorf("the worker ends with %v", w.errs[0])
	}
	if !isEngine(err) || !strings.Contains(err.Error(), "worker 1 of 1: the engine of part 0 broke") {
		t.Errorf("%v", err)
	}
}
