package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"assay/internal/bundle"
	"assay/internal/load"
)

// Workers of another version, and for a shard that is taken, are refused, and the coordinator says so; the run goes on.
func TestWorkersAreRefused(t *testing.T) {
	t.Parallel()
	b := startBus(t).bus()
	var said lines
	e := &scripted{}
	o := mixed(t, e, 100, time.Second)
	o.Workers, o.Fleet = 2, New(Options{Version: testVersion, Bus: &b, Run: "refusing", Wait: time.Minute, Say: said.say})
	ended := make(chan *bundle.LoadReport, 1)
	go func() {
		r, err := load.Run(t.Context(), o)
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
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
	joined := make(chan struct{})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	go func() {
		defer close(joined)
		for !taken(t, b, "refusing", 1) {
			time.Sleep(5 * time.Millisecond) // another connection looks at the bus
		}
	}()
	w.come(ctx, worker(1, testVersion))
	<-joined
	refused(Work(t.Context(), worker(1, testVersion)), "shard 1 of the run refusing is taken by process")
	w.come(ctx, worker(-1, testVersion))
	r := <-ended
	w.Wait()
	if r.Verdict != bundle.LoadPass {
		t.Errorf("%+v", r)
	}
	refused(Work(t.Context(), worker(-1, testVersion)), "has begun")
	for _, want := range []string{"is refused: this worker has version 0.9", "is refused: shard 1 of the run refusing is taken"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the coordinator said %s, want %q in it", &said, want)
		}
	}
}

// taken reports whether a worker has a shard.
func taken(t *testing.T, b Bus, run string, shard int) bool {
	t.Helper()
	nc, err := b.connect(t.Context(), "test", time.Second)
	if err != nil {
		t.Error(err)
		return true
	}
	defer nc.Close()
	w := &worker{opts: WorkerOptions{Bus: b}, names: names{run}, nc: nc}
	if w.js, err = jetstream.New(nc.Conn); err != nil || w.look(t.Context()) != nil {
		return false
	}
	there, _ := w.stored(t.Context(), keyJoin(shard, 1), new(join))
	return there
}

// A worker that goes away before the start leaves its shard to another one.
func TestAShardIsFreeAgainBeforeTheStart(t *testing.T) {
	t.Parallel()
	const silence = "is silent: another one can take its place"
	b := startBus(t).bus()
	var said lines
	e := &scripted{}
	o := mixed(t, e, 100, time.Second)
	o.Workers, o.Fleet = 2, New(Options{Version: testVersion, Bus: &b, Run: "again", Wait: time.Minute, Patience: time.Second, Say: said.say})
	worker := WorkerOptions{Bus: b, Run: "again", Shard: 0, Worker: load.Worker{Engines: []load.Engine{e}}}
	var gone, w team
	ctx, leave := context.WithCancel(t.Context())
	gone.come(ctx, worker)
	go func() {
		for !taken(t, b, "again", 0) {
			time.Sleep(5 * time.Millisecond) // another connection looks at the bus
		}
		leave()
		gone.Wait()
		for !strings.Contains(said.String(), silence) {
			if t.Context().Err() != nil {
				return
			}
			time.Sleep(5 * time.Millisecond) // the coordinator notices it by its clock
		}
		for shard := range 2 { // only now, since the run begins as soon as every shard has a worker
			w.come(t.Context(), WorkerOptions{Bus: b, Run: "again", Shard: shard, Worker: worker.Worker})
		}
	}()
	r, err := load.Run(t.Context(), o)
	w.Wait()
	if err != nil || r.Verdict != bundle.LoadPass || !strings.Contains(said.String(), silence) {
		t.Errorf("%v, %.500v, it said %.2000s", err, r, &said)
	}
}

// A worker whose plan does not fit says so, and the run does not wait for it in vain.
func TestAWorkerThatCannotBeginSaysSo(t *testing.T) {
	t.Parallel()
	b := startBus(t).bus()
	o := mixed(t, &scripted{}, 100, time.Second)
	o.Workers, o.Fleet = 1, New(Options{Version: testVersion, Bus: &b, Run: "unable", Wait: 2 * time.Second})
	var w team
	w.come(t.Context(), WorkerOptions{Bus: b, Run: "unable", Shard: -1})
	_, err := load.Run(t.Context(), o)
	w.Wait()
	if err == nil || !strings.Contains(err.Error(), "1 of 1 workers are missing") {
		t.Errorf("%v", err)
	}
	if w.errs[0] == nil || !strings.Contains(w.errs[0].Error(), `no engine "scripted"`) {
		t.Errorf("%v", w.errs[0])
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
	var engine *load.EngineError
	if !errors.As(err, &engine) || !strings.Contains(err.Error(), "worker 1 of 1: the engine of part 0 broke") {
		t.Errorf("%v", err)
	}
}
