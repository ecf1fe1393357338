package fleet

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"assay/internal/load"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/testkit"
	"assay/scenarios"
)

const testVersion = "1.2.3-test"

// scripted is an engine without a network. What it does with a stream depends only on the number of the stream in the whole
// run, and on the seed.
type scripted struct {
	mu    sync.Mutex
	began []time.Time
	done  map[string]int // operations, by description
	fails bool
	// stays makes part 1 stop in the middle of its schedule, and stay there until it is interrupted: a test can kill it at any time.
	stays bool
}

var _ load.Engine = (*scripted)(nil)

func (*scripted) Name() string { return "scripted" }

// operation describes what a stream does.
func operation(p *load.Plan, n int) string {
	whole := n
	if p.Parts > 1 {
		whole = n*p.Parts + p.Part
	}
	part := p.Stream(int64(n))
	return fmt.Sprintf("%d class %d %q kill %v after %v", whole, part.Class, p.Classes[part.Class].Dialect.Command, part.Kill, part.After)
}

func (e *scripted) Run(ctx context.Context, p *load.Plan, s load.Sink) error {
	begun := time.Now()
	e.mu.Lock()
	e.began = append(e.began, begun)
	e.mu.Unlock()
	if e.fails {
		return fmt.Errorf("the engine of part %d broke", p.Part)
	}
	pacer := p.Pacer()
	for n := 0; p.Count == 0 || n < p.Count; n++ {
		at, ok := pacer.At(n)
		if !ok || p.Duration > 0 && at >= p.Duration {
			break
		}
		if e.stays && p.Part == 1 && at >= p.Duration/2 {
			<-ctx.Done()
			break
		}
		if load.Sleep(ctx, time.Until(begun.Add(at))); ctx.Err() != nil {
			break
		}
		e.stream(p, n, s)
	}
	return nil
}

// stream plays one stream.
func (e *scripted) stream(p *load.Plan, n int, s load.Sink) {
	what := operation(p, n)
	e.mu.Lock()
	if e.done == nil {
		e.done = map[string]int{}
	}
	e.done[what]++
	e.mu.Unlock()
	var whole int
	_, _ = fmt.Sscanf(what, "%d", &whole)
	part := p.Stream(int64(n))
	us := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	s.Opening()
	s.Started()
	s.Output(whole, 3, 6)
	s.Record(n, part.Class, load.FirstEvent, us(100+whole*whole%100_000))
	s.Record(n, part.Class, load.Gap, us(1+whole*7919%3_000_000))
	r := load.Result{Stream: int64(n), Outcome: bundle.StreamOK, Opened: true, Fate: load.EndedOK}
	if part.Kill {
		s.Killing()
		r.Outcome, r.Fate, r.KillSent = bundle.StreamKilled, load.FateKilled, true
	}
	s.Record(n, part.Class, load.EndOfStream, us(whole%977))
	s.Ended(r)
}

// started runs a load run beside the test. The result waits for its end.
func started(t *testing.T, o load.Options) (wait func() (*bundle.LoadReport, error)) {
	t.Helper()
	type end struct {
		report *bundle.LoadReport
		err    error
	}
	ended := make(chan end, 1)
	go func() {
		r, err := load.Run(t.Context(), o)
		ended <- end{r, err}
	}()
	return func() (*bundle.LoadReport, error) {
		e := <-ended
		return e.report, e.err
	}
}

// nobody is a target that has no counters.
func nobody(t *testing.T) target.Options {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	return target.Options{URL: s.URL}
}

// mixed returns the options of a run with two classes, at a rate of so many streams per second.
func mixed(t *testing.T, e load.Engine, rate float64, d time.Duration) load.Options {
	t.Helper()
	return mixedAt(nobody(t), e, rate, d)
}

// mixedAt returns the same for a target.
func mixedAt(at target.Options, e load.Engine, rate float64, d time.Duration) load.Options {
	return load.Options{
		Target: at, Schedule: load.Schedule{Rate: rate, Poisson: true, Duration: d, Seed: 11}, Engine: e, Version: testVersion, Thresholds: []string{"streams.completed > 10"},
		Classes: []scenarios.WorkloadClass{{Name: "a", Share: 2, Lines: 3, KillShare: 0.3}, {Name: "b", Share: 1, Lines: 5}},
	}
}

// testBus is a NATS server of a test, which can be restarted.
type testBus struct {
	t    *testing.T
	opts server.Options
	mu   sync.Mutex
	srv  *server.Server
}

func startBus(t *testing.T) *testBus {
	t.Helper()
	b := &testBus{t: t, opts: server.Options{Host: "127.0.0.1", JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}}
	// Nobody else gets its port while it is down.
	if _, err := fmt.Sscanf(testkit.ReservedPort(t), "127.0.0.1:%d", &b.opts.Port); err != nil {
		t.Fatal(err)
	}
	b.up()
	t.Cleanup(b.down)
	return b
}

// up starts the server, always at the same address.
func (b *testBus) up() {
	opts := b.opts
	s, err := server.NewServer(&opts)
	if err != nil {
		b.t.Error(err)
		return
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		b.t.Error("the bus did not start")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.srv = s
}

// down ends the server.
func (b *testBus) down() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.srv.Shutdown()
	b.srv.WaitForShutdown()
}

// clients returns the number of connections.
func (b *testBus) clients() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.srv.NumClients()
}

func (b *testBus) bus() Bus { return Bus{URL: fmt.Sprintf("nats://127.0.0.1:%d", b.opts.Port)} }

// lines collects what a fleet says.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%q", l.all)
}

// team is workers of a test, as goroutines.
type team struct {
	sync.WaitGroup

	mu   sync.Mutex
	errs []error
}

// come lets a worker come.
func (w *team) come(ctx context.Context, o WorkerOptions) {
	if o.Version == "" {
		o.Version = testVersion
	}
	w.Go(func() {
		err := Work(ctx, o)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.errs = append(w.errs, err)
	})
}

// ticks is a progress that calls a function each second.
type ticks struct{ tick func(t load.Tick) }

func (ticks) Begin(string, time.Duration, int) {}
func (p ticks) Tick(t load.Tick)               { p.tick(t) }
func (ticks) End()                             {}

// first calls do when the first streams of a run have ended.
func first(do func()) ticks {
	var once sync.Once
	return ticks{func(t load.Tick) {
		if t.Completed > 0 {
			once.Do(do)
		}
	}}
}

// spy keeps the crew of a run.
type spy struct {
	*Fleet

	mu   sync.Mutex
	crew load.Crew
}

func (s *spy) Gather(ctx context.Context, o load.Order) (load.Crew, error) {
	c, err := s.Fleet.Gather(ctx, o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crew = c
	return c, err
}

// pid returns the process of a worker.
func (s *spy) pid(shard int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crew.Members()[shard].PID
}

// shrink leaves no room in a stream.
func (b *testBus) shrink(t *testing.T, stream string) {
	t.Helper()
	bus := b.bus()
	nc, err := bus.connect(t.Context(), "test", time.Second)
	if err != nil {
		t.Error(err)
		return
	}
	defer nc.Close()
	s, err := nc.js.Stream(t.Context(), stream)
	if err != nil {
		t.Error(err)
		return
	}
	c := s.CachedInfo().Config
	c.MaxBytes = 1
	if _, err := nc.js.UpdateStream(t.Context(), c); err != nil {
		t.Error(err)
	}
}
