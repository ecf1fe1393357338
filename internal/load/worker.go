package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"assay/internal/bundle"
	"assay/internal/crash"
	"assay/internal/machine"
	"assay/internal/target"
	"assay/scenarios"
)

// goAhead is the line that makes a worker begin.
const goAhead = "go\n"

// job is the work of a worker process: a part of a plan. It comes over a
// pipe, so it may hold the token.
type job struct {
	Target         target.Options
	Sandboxes      []target.Options `json:",omitempty"`
	Run            string
	Classes        []scenarios.WorkloadClass
	HTTP           string
	FullHandshakes bool
	Streams        int
	Rate           float64
	Stages         []Stage
	Poisson        bool
	Ramp           time.Duration
	Duration       time.Duration
	Count          int
	Warmup         time.Duration
	Seed           uint64
	Sources        []string
	Engine         string
	Part, Parts    int
}

// said is a message of a worker. The first says that it is ready, the next ones have its
// counts, every second, and the last says that it is done.
type said struct {
	Tally tally
	// Values are the values measured since the last message.
	Values   []values             `json:",omitempty"`
	Refused  string               `json:",omitempty"`
	Error    string               `json:",omitempty"`
	Done     bool                 `json:",omitempty"`
	Examples []bundle.LoadExample `json:",omitempty"`
	CPU      float64              `json:",omitempty"` // seconds
	RSS      int64                `json:",omitempty"` // bytes, the peak
}

// values is one histogram of measured values, of a class and a metric.
type values struct {
	Class     int
	Metric    Metric
	Histogram []byte
}

// Work is the main function of a worker process, which a run starts when one process may
// not have enough descriptors. It reads a job from in, runs it with the engine that the job
// names, and reports to out. The end of in ends it as an interrupt ends a run.
func Work(ctx context.Context, in io.Reader, out io.Writer, engines ...Engine) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	dec := json.NewDecoder(in)
	var j job
	if err := dec.Decode(&j); err != nil {
		return fmt.Errorf("the job: %w", err)
	}
	w := working{enc: json.NewEncoder(out)}
	err := w.prepare(j, engines)
	if err != nil {
		return errors.Join(err, w.say(said{Error: err.Error()}))
	}
	if err := w.say(said{}); err != nil {
		return err
	}
	rest := bufio.NewReader(io.MultiReader(dec.Buffered(), in))
	for range 2 { // the newline after the job, and goAhead
		if _, err := rest.ReadString('\n'); err != nil {
			return nil // the run has ended
		}
	}
	go func() {
		defer crash.Catch()
		_, _ = io.Copy(io.Discard, rest)
		stop()
	}()
	return w.work(ctx)
}

// addresses parses addresses.
func addresses(texts []string) (all []netip.Addr, err error) {
	for _, text := range texts {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("source address: %w", err)
		}
		all = append(all, a)
	}
	return all, nil
}

// working is the state of a worker.
type working struct {
	enc     *json.Encoder
	engine  Engine
	plan    *Plan
	sink    *collector
	refused string
}

func (w *working) say(s said) error {
	if err := w.enc.Encode(s); err != nil {
		return fmt.Errorf("reporting to the run: %w", err)
	}
	return nil
}

// prepare makes the plan of the worker's part.
func (w *working) prepare(j job, engines []Engine) error {
	for _, e := range engines {
		if e.Name() == j.Engine {
			w.engine = e
		}
	}
	if w.engine == nil {
		return fmt.Errorf("there is no engine %q", j.Engine)
	}
	t, err := target.New(j.Target)
	if err != nil {
		return err
	}
	o := Options{
		Target: j.Target, HTTP: j.HTTP, FullHandshakes: j.FullHandshakes, Streams: j.Streams, Rate: j.Rate, Poisson: j.Poisson, Ramp: j.Ramp,
		Duration: j.Duration, Count: share(j.Count, j.Part, j.Parts), Warmup: j.Warmup, Seed: j.Seed,
		classes: j.Classes, stages: j.Stages,
	}
	if w.plan, err = o.plan(Dialect{Target: t, Run: j.Run, Part: j.Part}); err != nil {
		return err
	}
	if w.plan.Sandboxes, err = targetsOf(j.Sandboxes, t.Redactor()); err != nil {
		return err
	}
	w.plan.Part, w.plan.Parts = j.Part, j.Parts
	w.plan.Limits.Interrupt = workerShare(&w.plan.Limits)
	if w.plan.Sources, err = addresses(j.Sources); err != nil {
		return err
	}
	m := thisMachine()
	w.plan.MaxOpen = m.room(false)
	w.sink = newCollector(shardsWanted()).of(w.plan)
	w.sink.redactor = t.Redactor()
	w.sink.refused = func(message string) { w.refused = message }
	return nil
}

// work runs the plan and reports.
func (w *working) work(ctx context.Context) error {
	if w.plan.Warmup > 0 {
		w.sink.cold.Store(true)
		warm := time.AfterFunc(w.plan.Warmup, func() { w.sink.cold.Store(false) })
		defer warm.Stop()
	}
	done := make(chan error, 1)
	go func() {
		defer crash.Catch()
		done <- w.engine.Run(ctx, w.plan, w.sink)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.sink.hist.merge()
			s, err := w.now()
			if err == nil {
				err = w.say(s)
			}
			if err != nil {
				return err
			}
		case failed := <-done:
			w.sink.hist.last()
			s, err := w.now()
			if err != nil {
				return err
			}
			s.Done, s.Examples, s.CPU, s.RSS = true, w.sink.examples, machine.CPUSeconds(), machine.PeakMemory()
			if failed != nil {
				s.Error = failed.Error()
			}
			return w.say(s)
		}
	}
}

// now returns the counts so far, and the values of the last interval.
func (w *working) now() (said, error) {
	s := said{Tally: w.sink.tally()}
	for class := range w.sink.classes {
		for m, h := range w.sink.hist.of(class) {
			if h.TotalCount() == 0 {
				continue
			}
			v := values{Class: class, Metric: Metric(m)} //nolint:gosec // an index of the array
			var err error
			if v.Histogram, err = h.EncodeV2(); err != nil {
				return s, fmt.Errorf("the histogram of %s: %w", v.Metric, err)
			}
			s.Values = append(s.Values, v)
		}
	}
	w.sink.mu.Lock()
	defer w.sink.mu.Unlock()
	s.Refused = w.refused
	return s, nil
}
