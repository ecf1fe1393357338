package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"assay/internal/load"
	"assay/internal/record/bundle"
	"assay/internal/testkit"
)

// hasty is a fleet that waits only a second for the end of the workers, besides the slack.
type hasty struct{ *Fleet }

func (h hasty) Gather(ctx context.Context, o load.Order) (load.Crew, error) {
	o.Limits.Interrupt = time.Second
	return h.Fleet.Gather(ctx, o)
}

// An interrupt ends a run also while the bus is away, with what was recorded.
func TestAnInterruptWhileTheBusIsAway(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	b := startBus(t)
	bus := b.bus()
	o := mixed(t, &scripted{}, 100, time.Hour)
	o.Workers, o.Fleet = 1, hasty{New(Options{Version: testVersion, Bus: &bus, Run: "cut", Wait: time.Minute})}
	var w team
	w.come(ctx, WorkerOptions{Bus: bus, Run: "cut", Shard: -1, Worker: load.Worker{Engines: []load.Engine{&scripted{}}}, forsaken: time.Second})
	o.Progress = first(func() {
		b.down()
		stop()
	})
	r, err := load.Run(ctx, o)
	w.Wait()
	if err != nil || !r.Interrupted || r.Streams.Completed == 0 || !strings.Contains(r.Workers[0].Lost, "was away for") {
		t.Errorf("%v, %.500v", err, r)
	}
}

// untilAway waits until a link has noticed that its bus is away.
func untilAway(t *testing.T, l *link) {
	t.Helper()
	testkit.Eventually(t, func() error {
		if l.away() == 0 {
			return errors.New("the bus is there")
		}
		return nil
	})
}

// That a run is to end is told when the bus is back.
func TestTheEndIsToldWhenTheBusIsBack(t *testing.T) {
	t.Parallel()
	b := startBus(t)
	bus := b.bus()
	order := load.Order{Job: load.Job{Run: "told", Parts: 1}}
	h, err := open(t.Context(), New(Options{Version: testVersion, Bus: &bus}).opts, order)
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	h.round = 1
	f := &follower{crew: &crew{coordinator: h, order: order}}
	b.down()
	untilAway(t, h.nc)
	f.end("it is enough")
	b.up()
	testkit.Eventually(t, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.tell(); f.untold != "" {
			return errors.New("it is not told")
		}
		return nil
	})
	var s stop
	if err := value(t.Context(), h.kv, keyStop(1), &s); err != nil || s.Why != "it is enough" {
		t.Errorf("%v, %+v", err, s)
	}
}

// A bus that does not come back ends the run, and the worker.
func TestABusThatIsGoneForGood(t *testing.T) {
	t.Parallel()
	b := startBus(t)
	bus := b.bus()
	o := mixed(t, &scripted{}, 100, 0)
	o.Count = 1_000_000
	o.Workers, o.Fleet = 1, New(Options{Version: testVersion, Bus: &bus, Run: "gone", Wait: time.Minute, forsaken: 2 * time.Second})
	var w team
	w.come(t.Context(), WorkerOptions{Bus: bus, Run: "gone", Shard: -1, Worker: load.Worker{Engines: []load.Engine{&scripted{}}}, forsaken: 2 * time.Second})
	o.Progress = first(b.down)
	r, err := load.Run(t.Context(), o)
	w.Wait()
	if err != nil || r.Verdict != bundle.LoadInconclusive || r.Streams.Completed == 0 || !strings.Contains(r.Workers[0].Lost, "was away for ") {
		t.Errorf("%v, %.500v", err, r)
	}
	var gone *BusError
	if !errors.As(w.errs[0], &gone) || !strings.Contains(gone.What, "was away for ") {
		t.Errorf("the worker ends with %v", w.errs[0])
	}
}

// doorman lets clients in, or not, and counts those that it refuses.
type doorman struct {
	shut    atomic.Bool
	refused atomic.Int32
}

func (d *doorman) Check(server.ClientAuthentication) bool {
	if d.shut.Load() {
		d.refused.Add(1)
		return false
	}
	return true
}

// A bus that refuses the credentials for a while, as when it gets new ones, is there again when it accepts them.
func TestCredentialsThatAreRefusedForAWhile(t *testing.T) {
	t.Parallel()
	b := startBus(t)
	var door doorman
	b.down()
	b.opts.CustomClientAuthentication = &door
	b.up()
	bus := b.bus()
	l, err := bus.connect(t.Context(), "test", 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	door.shut.Store(true)
	b.down()
	b.up()
	testkit.Eventually(t, func() error {
		if n := door.refused.Load(); n <= 3 && !l.IsClosed() {
			return fmt.Errorf("%d attempts were refused", n)
		}
		return nil
	})
	if text := l.absence(); !strings.Contains(text, "Authorization Violation") {
		t.Errorf("it says %q", text)
	}
	door.shut.Store(false)
	testkit.Eventually(t, func() error {
		if !l.IsConnected() && !l.IsClosed() {
			return errors.New(l.absence())
		}
		return nil
	})
	if l.IsClosed() {
		t.Error("the connection is closed for good")
	}
}

// returning is a fleet whose bus comes back while it gathers.
type returning struct {
	*Fleet
	sync.WaitGroup

	up func()
}

func (r *returning) Gather(ctx context.Context, o load.Order) (load.Crew, error) {
	r.Go(r.up)
	return r.Fleet.Gather(ctx, o)
}

// Calls that wait for the bus go on when it is back: none of them ends a run because of a blip.
func TestCallsOutlastABlip(t *testing.T) {
	t.Parallel()
	b := startBus(t)
	bus := b.bus()
	o := mixed(t, &scripted{}, 100, time.Second)
	o.Workers = 1
	f := New(Options{Version: testVersion, Bus: &bus, Run: "blip", Wait: time.Minute, Rounds: true})
	defer f.Close()
	o.Fleet = f
	var w team
	w.come(t.Context(), WorkerOptions{Bus: bus, Run: "blip", Shard: -1, Worker: load.Worker{Engines: []load.Engine{&scripted{}}}})
	if r, err := load.Run(t.Context(), o); err != nil || r.Verdict != bundle.LoadPass {
		t.Fatalf("%v, %.500v", err, r)
	}
	b.down()
	untilAway(t, f.coordinator.nc)
	late := &returning{Fleet: f, up: b.up}
	o.Fleet = late
	r, err := load.Run(t.Context(), o)
	late.Wait()
	if err != nil || r.Verdict != bundle.LoadPass {
		t.Errorf("%v, %.500v", err, r)
	}
	f.Close()
	w.Wait()
	if w.errs[0] != nil {
		t.Errorf("the worker ends with %v", w.errs[0])
	}
}
