//go:build unix

package fleet

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/record/bundle"
)

// local returns a fleet of worker processes of the test's binary.
func local(o Options) *spy {
	o.Version, o.Line = testVersion, []string{os.Args[0], workerArg}
	return &spy{Fleet: New(o)}
}

// A worker process that is killed, or that stands still, is lost: the report names it, and what it published counts.
func TestALostWorkerIsNamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		signal  syscall.Signal
		policy  Policy
		verdict bundle.LoadVerdict
		why     string
	}{
		"killed, degrade": {syscall.SIGKILL, Degrade, bundle.LoadPass, "signal: killed"},
		"stopped, abort":  {syscall.SIGSTOP, Abort, bundle.LoadInconclusive, "nothing was heard of it for 5s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said lines
			f := local(Options{Policy: tt.policy, Patience: time.Minute, Say: said.say})
			f.opts.patienceOf = func(shard, _ int) time.Duration {
				if shard == 1 && tt.signal == syscall.SIGSTOP {
					return 5 * time.Second
				}
				return time.Minute
			}
			length := time.Hour // an abort ends it
			if tt.policy == Degrade {
				length = 5 * time.Second
			}
			o := mixed(t, &scripted{}, 100, length)
			o.Workers, o.Fleet, o.Thresholds = 3, f, nil
			var seen int64
			once := false
			o.Progress = ticks{func(tick load.Tick) {
				if tick.Completed >= 100 && !once {
					once, seen = true, tick.Completed
					if err := syscall.Kill(f.pid(1), tt.signal); err != nil {
						t.Error(err)
					}
				}
			}}
			r, err := load.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			lost := r.Workers[1]
			if r.Verdict != tt.verdict || !strings.Contains(lost.Lost, tt.why) || lost.LostMS < 1000 || lost.Windows == 0 {
				t.Errorf("%s because of %q, %+v", r.Verdict, r.Reasons, lost)
			}
			if r.Workers[0].Lost != "" || r.Workers[2].Lost != "" {
				t.Errorf("others are lost: %+v", r.Workers)
			}
			// A stream that ends while a window is cut is counted in this one and measured in the next, which a lost worker
			// does not publish any more.
			const cut = 50
			if off := r.Streams.Completed - r.Latency.FirstEvent.Count; r.Streams.Completed < seen || off < -cut || off > cut {
				t.Errorf("%d completed, %d measured, and %d were seen before", r.Streams.Completed, r.Latency.FirstEvent.Count, seen)
			}
			if tt.policy == Abort && !strings.Contains(strings.Join(r.Reasons, ";"), "ended because worker 2 of 3") {
				t.Errorf("the reasons are %q", r.Reasons)
			}
			if r.Streams.Offered >= 1 || !strings.Contains(said.String(), "worker 2 of 3") {
				t.Errorf("%g offered; it said %s", r.Streams.Offered, &said)
			}
		})
	}
}

// When every worker is lost, the run ends with what they published, also with degrade.
func TestARunWithoutWorkersEnds(t *testing.T) {
	t.Parallel()
	f := local(Options{Policy: Degrade})
	o := mixed(t, &scripted{}, 100, time.Hour)
	o.Workers, o.Fleet = 2, f
	o.Progress = first(func() {
		_ = syscall.Kill(f.pid(0), syscall.SIGKILL)
		_ = syscall.Kill(f.pid(1), syscall.SIGKILL)
	})
	r, err := load.Run(t.Context(), o)
	if err != nil || r.Verdict != bundle.LoadInconclusive || r.Workers[0].Lost == "" || r.Workers[1].Lost == "" || r.Streams.Completed == 0 {
		t.Errorf("%v, %+v", err, r)
	}
}

// An interrupt ends all worker processes, and the report has what was recorded.
func TestAnInterruptEndsTheWorkers(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	f := local(Options{})
	o := mixed(t, &scripted{}, 100, time.Hour)
	o.Workers, o.Fleet = 2, f
	o.Progress = first(stop)
	r, err := load.Run(ctx, o)
	if err != nil || !r.Interrupted || r.Streams.Completed == 0 || r.Workers[0].Lost+r.Workers[1].Lost != "" || r.Streams.Begun != r.Streams.Completed {
		t.Errorf("%v, %+v", err, r)
	}
	for i := range 2 {
		if syscall.Kill(f.pid(i), 0) == nil {
			t.Errorf("worker process %d is still there", i)
		}
	}
}

// An interrupt before the start ends the workers, too.
func TestAnInterruptBeforeTheStart(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	b := startBus(t).bus()
	o := mixed(t, &scripted{}, 100, time.Hour)
	o.Workers, o.Fleet = 2, New(Options{Version: testVersion, Bus: &b, Run: "early", Say: func(string) { stop() }})
	r, err := load.Run(ctx, o)
	if err != nil || !r.Interrupted || r.Streams.Begun != 0 {
		t.Errorf("%v, %+v", err, r)
	}
}

// A bus that is restarted in mid-run loses nothing: workers and coordinator come back, and every window is there once.
func TestABusThatIsRestartedLosesNothing(t *testing.T) {
	t.Parallel()
	b := startBus(t)
	alone := &scripted{}
	o := mixed(t, alone, 100, 4*time.Second)
	whole := started(t, o)
	e := &scripted{}
	o.Engine = e
	restarted := make(chan struct{})
	o.Progress = first(func() {
		go func() {
			defer close(restarted)
			b.down()
			b.up()
		}()
	})
	r := conduct(t, b.bus(), "restarted", e, o, 2)
	<-restarted
	want, err := whole()
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != bundle.LoadPass || r.Streams.Outcomes != want.Streams.Outcomes || r.Latency != want.Latency {
		t.Errorf("%s because of %q: %+v, want %+v", r.Verdict, r.Reasons, r.Streams, want.Streams)
	}
}

// A bus without room for the windows is a named loss, and no hang.
func TestABusThatIsFullIsNamed(t *testing.T) {
	t.Parallel()
	srv := startBus(t)
	b := srv.bus()
	f := New(Options{Version: testVersion, Bus: &b, Run: "full", Patience: 2 * time.Second, Policy: Degrade, Wait: 30 * time.Second})
	o := mixed(t, &scripted{}, 100, 5*time.Second)
	o.Workers, o.Fleet = 1, f
	var w team
	w.come(t.Context(), WorkerOptions{Bus: b, Run: "full", Shard: -1, Worker: load.Worker{Engines: []load.Engine{&scripted{}}}, Say: func(string) {
		srv.shrink(t, names{"full"}.stream())
	}})
	r, err := load.Run(t.Context(), o)
	w.Wait()
	if err != nil || !strings.Contains(r.Workers[0].Lost, "could not publish for 2s: the bus is full") {
		t.Errorf("%v, %+v", err, r)
	}
	var lost *LostError
	if !errors.As(w.errs[0], &lost) {
		t.Errorf("the worker ends with %v", w.errs[0])
	}
}
