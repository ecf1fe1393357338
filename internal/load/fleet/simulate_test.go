package fleet

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/internal/base/machine"
	"assay/internal/load"
	"assay/internal/record/bundle"
)

// The size of the simulation: go test ./internal/load/fleet -run Simulat -v -workers 1000 -rate 1000000 -length 10s
var (
	simWorkers = flag.Int("workers", 40, "workers of the simulation")
	simRate    = flag.Float64("rate", 5_000, "streams per second of the simulation")
	simLength  = flag.Duration("length", 3*time.Second, "length of the simulation")
)

// simulateArg makes the test's binary the workers of the simulation.
const simulateArg = "simulated-workers"

// simulation is what the process of the workers gets over its stdin.
type simulation struct {
	Bus     Bus
	Run     string
	Workers int
}

// simulate plays many workers that open no stream: they join, wait at the barrier, publish a window a second, and seal.
func simulate(in io.Reader) error {
	var s simulation
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return err
	}
	var all sync.WaitGroup
	errs := make(chan error, s.Workers)
	for i := range s.Workers {
		all.Go(func() {
			if err := s.worker(i); err != nil {
				errs <- fmt.Errorf("worker %d: %w", i+1, err)
			}
		})
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	select {
	case err := <-errs:
		return err
	case <-ended:
		return nil
	}
}

func (s *simulation) worker(shard int) error {
	ctx := context.Background()
	o := WorkerOptions{Bus: s.Bus, Run: s.Run, Shard: shard, Wait: time.Minute, Version: testVersion, Say: func(string) {}, Now: time.Now}
	w := &worker{opts: o, names: names{s.Run}, keys: map[string][]byte{}, changed: make(chan struct{}, 1), heard: time.Now().Add(time.Hour)}
	var err error
	if w.nc, err = o.Bus.connect(ctx, "simulated", time.Minute); err != nil {
		return err
	}
	defer w.nc.Close()
	if err := w.enter(ctx, time.Now().Add(time.Minute)); err != nil {
		return err
	}
	if err := w.join(ctx); err != nil {
		return err
	}
	listening, stop := context.WithCancel(ctx)
	defer stop()
	go followKeys(listening, w.nc.Conn, w.kv, w.concerns(), w.note)
	go w.beats(listening)
	if _, err := w.await(ctx, keyPlan(1)); err != nil {
		return err
	}
	var p plan
	w.read(keyPlan(1), &p)
	until, _, err := w.barrier(ctx, 1)
	if err != nil {
		return err
	}
	begin := time.Now().Add(until)
	pub := &publisher{worker: w, round: 1, digest: newDigest(), giveUp: ctx, last: begin.Add(time.Hour)}
	seconds, left := int(p.Job.Duration/time.Second), part(int(p.Job.Rate*p.Job.Duration.Seconds()), shard, s.Workers)
	for second := range seconds {
		load.Sleep(ctx, time.Until(begin.Add(time.Duration(second+1)*time.Second)))
		n := left / (seconds - second)
		left -= n
		if err := pub.publish(simulated(shard, second, n, second == seconds-1)); err != nil {
			return err
		}
	}
	return w.seal(1, pub, 0)
}

// part returns how many of n streams a worker has.
func part(n, shard, workers int) int { return (n - shard + workers - 1) / workers }

// simulated returns a window of n streams, with four distributions.
func simulated(shard, second, n int, last bool) *load.Window {
	w := &load.Window{Done: last}
	c := &w.Counts
	c.Opening, c.Started, c.Events, c.Bytes = int64(n), int64(n), int64(3*n), int64(6*n)
	c.Outcomes[bundle.StreamOK], c.Fates[load.EndedOK] = int64(n), int64(n)
	c.Classes = []bundle.StreamOutcomes{c.Outcomes}
	draw := rand.New(rand.NewPCG(uint64(shard), uint64(second))) //nolint:gosec // a simulation
	h := hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3)
	for _, m := range []load.Metric{load.FirstEvent, load.Gap, load.EndOfStream, load.StartLag} {
		h.Reset()
		for range n {
			_ = h.RecordValue(int64(500 * (1 + draw.ExpFloat64())))
		}
		text, err := h.EncodeV2()
		if err != nil {
			continue
		}
		w.Values = append(w.Values, load.Values{Metric: m, Histogram: string(text)})
	}
	return w
}

// Many workers and streams: the plan, the barrier and the merge are real, the traffic is not. Every stream is merged.
func TestTheCoordinatorOfASimulatedFleet(t *testing.T) {
	t.Parallel()
	e, err := embed()
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	bus := e.bus
	run := "simulated"
	text, err := json.Marshal(simulation{bus, run, *simWorkers})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], simulateArg) //nolint:gosec // the test itself
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(text); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	o := mixed(t, &scripted{}, *simRate, *simLength)
	o.Poisson, o.Workers, o.Classes = false, *simWorkers, o.Classes[:1]
	o.Fleet = New(Options{Version: testVersion, Bus: &bus, Run: run, Wait: 2 * time.Minute, Patience: time.Minute})
	begun, cpu := time.Now(), machine.CPUSeconds()
	var first time.Duration
	most := uint64(0)
	o.Progress = ticks{func(load.Tick) {
		if first == 0 {
			first = time.Since(begun)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	}}
	r, err := load.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if want := int64(*simRate * simLength.Seconds()); r.Streams.Completed != want || r.Latency.FirstEvent.Count != want || r.Latency.Gap.Count != want || len(r.Workers) != *simWorkers || r.Verdict != bundle.LoadPass {
		t.Errorf("%s because of %q: %+v, want %d of each", r.Verdict, r.Reasons, r.Streams, want)
	}
	windows := 0
	for _, w := range r.Workers {
		windows += w.Windows
	}
	t.Logf("%d workers, %d streams, %d windows: gathered and begun in %v, whole after %v; coordinator and bus: %.1f s of processor time, %d MB heap, %d MB resident at most",
		len(r.Workers), r.Streams.Completed, windows, (first - time.Second).Round(time.Millisecond), time.Since(begun).Round(time.Millisecond), machine.CPUSeconds()-cpu, most>>20, machine.PeakMemory()>>20)
}
