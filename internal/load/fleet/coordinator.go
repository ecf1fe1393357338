package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assay/internal/base/crash"
	"assay/internal/load"
)

// coordinator has a run on the bus: the connection, the workers that came, and what they wrote.
type coordinator struct {
	opts     Options
	names    names
	bus      Bus
	embedded *embedded // nil: the bus is elsewhere
	nc       *link
	kv       jetstream.KeyValue
	stream   jetstream.Stream
	stop     context.CancelFunc
	waiting  crash.Group // the goroutines that listen
	subs     []*nats.Subscription
	owns     bool // this coordinator has begun the run, or taken it over, and ends it
	round    int
	last     uint64 // the last sequence of the stream that was merged; for one goroutine
	resumed  start  // of a run that was taken over; zero for one that begins here
	mu       sync.Mutex
	workers  []workerState // by shard
	seals    map[int]*seal
	halted   string        // why the round was ended before all shards were sealed, by whomever
	changed  chan struct{} // something was noted
}

// workerState is a shard, and the worker that has it.
type workerState struct {
	attempt int // of the worker that joined last; 0: none has
	joined  *join
	ready   *ready // of the round
	dead    int    // the last attempt that was lost before the start
	seen    time.Time
	stuck   string // what the worker says that it cannot do
	process *process
	exited  string // how its process on this machine ended
	left    workerLeft
	before  string // why the last one that had the shard was lost before the start
	lost    string // in this round or an earlier one
	lostAt  time.Duration
}

// workerLeft is an attempt that ends before its work is done, as it says itself. Its message may come before the key with which it has
// joined.
type workerLeft struct {
	attempt int
	why     string
}

// gone says why the worker has ended; "" if it is there, as far as is known.
func (m *workerState) gone() string {
	if m.exited == "" && m.attempt > 0 && m.left.attempt == m.attempt {
		return m.left.why
	}
	return m.exited
}

// join is a worker that has taken a shard.
type join struct {
	Host    string
	PID     int
	Version string
	// ID is random: a worker knows its own entry by it, also if it did not get the answer that the entry is written.
	ID string
}

// ready is a worker at the barrier.
type ready struct {
	Offset, Error time.Duration
}

// beat is a sign of life of a worker.
type beat struct {
	Shard, Attempt int
	Stuck          string `json:",omitempty"`
	// Left says why the worker ends before its work is done.
	Left string `json:",omitempty"`
}

// notice is what somebody tells the coordinator who is not a worker of the run.
type notice struct{ Text string }

const (
	// callWithin bounds one call to the bus.
	callWithin = 5 * time.Second
	// keepFor is how long what is on a bus elsewhere stays after the hard end, for a coordinator that resumes.
	keepFor = 24 * time.Hour
)

// errExists is the error of a run whose id is on the bus already.
func errExists(run string) error {
	return &BusError{What: fmt.Sprintf("the run %s is on the bus already", run), Mend: "give another --run, or read what it recorded with --resume " + run}
}

// open opens a run on the bus and starts the workers of this machine.
func open(ctx context.Context, o Options, order load.Order) (_ *coordinator, err error) {
	n := order.Job.Parts
	h := &coordinator{opts: o, workers: make([]workerState, n), seals: map[int]*seal{}, changed: make(chan struct{}, 1)}
	h.names.run = o.Run
	if h.names.run == "" {
		h.names.run = order.Job.Run
	}
	if order.Pause != nil {
		h.opts.Patience += order.Pause.For
	}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if o.Bus == nil {
		if h.embedded, err = embed(); err != nil {
			return nil, err
		}
		h.bus = h.embedded.bus
	} else {
		h.bus = *o.Bus
	}
	if h.nc, err = h.bus.connect(ctx, "assay coordinator", dialWithin); err != nil {
		return nil, err
	}
	h.nc.limit = o.forsaken
	if err = h.create(ctx, hardEnd(&order.Job, &order.Limits)+keepFor); err != nil {
		return nil, err
	}
	h.owns = true
	if err = h.listen(); err != nil {
		return nil, err
	}
	if err = h.put(ctx, keyRun, card{
		Schema: schema, Version: o.Version, Workers: n, Rounds: o.Rounds, Policy: o.Policy, Beat: min(beatEvery, h.opts.Patience/4), Patience: h.opts.Patience,
	}); err != nil {
		return nil, err
	}
	if o.Bus != nil {
		say := o.Say
		if o.Run == "" {
			say = o.Warn // the workers need the id
		}
		say(fmt.Sprintf("waiting for %d workers: assay worker --bus %s --run %s", n, h.bus.URL, h.names.run))
		return h, nil
	}
	return h, h.launch(order)
}

// create makes the bucket and the stream of the run. Those of a bus elsewhere stay on its disk for some time.
func (h *coordinator) create(ctx context.Context, keep time.Duration) error {
	storage, limit := jetstream.FileStorage, callWithin
	if h.embedded != nil { // what it needs more time for is this machine
		storage, keep, limit = jetstream.MemoryStorage, 0, 6*callWithin
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	var err error
	h.kv, err = h.nc.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: h.names.bucket(), Storage: storage, TTL: keep})
	if errors.Is(err, jetstream.ErrBucketExists) {
		return errExists(h.names.run)
	}
	if err == nil {
		h.stream, err = h.nc.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: h.names.stream(), Subjects: []string{h.names.windows()}, Storage: storage, MaxAge: keep, Discard: jetstream.DiscardNew, AllowDirect: true,
		})
	}
	if err != nil {
		return h.nc.stored("making the run", err)
	}
	return nil
}

// listen begins to listen to the workers.
func (h *coordinator) listen() error {
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.waiting.Go(func() {
		followKeys(ctx, h.nc.Conn, h.kv, []string{"join.>", "ready.>", "seal.>", "stop.>", keyEnd}, h.note)
	})
	clock, err := tellTime(h.nc.Conn, h.names.clock(), h.opts.Now)
	if err != nil {
		return err
	}
	h.subs = append(h.subs, clock)
	for subject, hear := range map[string]nats.MsgHandler{h.names.beat(): h.hear, h.names.notice(): h.told} {
		sub, err := h.nc.Subscribe(subject, hear)
		if err != nil {
			return err
		}
		h.subs = append(h.subs, sub)
	}
	h.waiting.Go(func() {
		for ctx.Err() == nil {
			_ = h.nc.Publish(h.names.alive(), nil) // one that is lost is followed by the next
			load.Sleep(ctx, beatEvery)
		}
	})
	return h.nc.Flush()
}

// launch starts the worker processes of this machine.
func (h *coordinator) launch(order load.Order) error {
	for i := range h.workers {
		p, err := launch(h.opts.Line, assignment{Bus: h.bus, Run: h.names.run, Shard: i, Target: order.Target, Sandboxes: order.Sandboxes}, func(how string) {
			h.mu.Lock()
			h.workers[i].exited = how
			h.mu.Unlock()
			h.wake()
		})
		if err != nil {
			return err
		}
		h.mu.Lock()
		h.workers[i].process = p
		h.mu.Unlock()
	}
	return nil
}

// put writes a key.
func (h *coordinator) put(ctx context.Context, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, callWithin)
	defer stop()
	if _, err := h.kv.Put(ctx, key, text); err != nil {
		return h.nc.stored("writing "+key, err)
	}
	return nil
}

// create writes a key that must not be there. false means that it is.
func create(ctx context.Context, kv jetstream.KeyValue, key string, value any) (bool, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return false, err
	}
	ctx, stop := context.WithTimeout(ctx, callWithin)
	defer stop()
	_, err = kv.Create(ctx, key, text)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return false, nil
	}
	return err == nil, err
}

// wake wakes whoever waits for a change.
func (h *coordinator) wake() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// note takes in a key that a worker wrote.
func (h *coordinator) note(key string, value []byte) {
	defer h.wake()
	h.mu.Lock()
	defer h.mu.Unlock()
	var round, number, attempt int
	switch {
	case scanned(key, "join.%d.%d", &number, &attempt) && h.knows(number):
		m, j := &h.workers[number], &join{}
		if attempt > max(m.attempt, m.dead) && json.Unmarshal(value, j) == nil {
			m.attempt, m.joined, m.ready, m.stuck, m.seen = attempt, j, nil, "", time.Now()
		}
	case scanned(key, "ready.%d.%d.%d", &round, &number, &attempt) && round == h.round && h.knows(number):
		m, r := &h.workers[number], &ready{}
		if attempt == m.attempt && json.Unmarshal(value, r) == nil && m.ready == nil {
			m.ready = r
			h.welcome(number, m)
		}
	case scanned(key, "seal.%d.%d", &round, &number) && round == h.round && h.knows(number):
		s := &seal{}
		if json.Unmarshal(value, s) == nil && h.seals[number] == nil {
			h.seals[number] = s
		}
	case key == keyStop(h.round) || key == keyEnd:
		s := &stop{}
		if json.Unmarshal(value, s) == nil && len(h.seals) < len(h.workers) { // behind the last seal it ends nothing
			h.halted = s.Why
		}
	}
}

// scanned reads numbers from a key, and reports whether it has them.
func scanned(key, format string, into ...any) bool {
	n, err := fmt.Sscanf(key, format, into...)
	return err == nil && n == len(into)
}

// knows reports whether the run has a shard: whoever may write to the bus can name another one.
func (h *coordinator) knows(number int) bool { return number >= 0 && number < len(h.workers) }

// welcome tells who came. The caller holds mu.
func (h *coordinator) welcome(number int, m *workerState) {
	if h.embedded == nil && h.round == 1 {
		h.opts.Say(fmt.Sprintf("worker %d of %d: %s, process %d, its clock is off by %v ± %v",
			number+1, len(h.workers), m.joined.Host, m.joined.PID, m.ready.Offset.Round(time.Microsecond), m.ready.Error.Round(time.Microsecond)))
	}
	if m.ready.Error > doubtful {
		h.opts.Warn(fmt.Sprintf("worker %d of %d on %s: the clocks are compared with an error of %v; it may begin so much earlier or later than the others",
			number+1, len(h.workers), m.joined.Host, m.ready.Error.Round(time.Microsecond)))
	}
}

// hear notes a sign of life.
func (h *coordinator) hear(m *nats.Msg) {
	var b beat
	if json.Unmarshal(m.Data, &b) != nil || b.Shard < 0 || b.Shard >= len(h.workers) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	one := &h.workers[b.Shard]
	if b.Left != "" && b.Attempt >= one.attempt {
		one.left = workerLeft{b.Attempt, b.Left}
		h.wake()
	}
	if one.attempt == b.Attempt {
		if b.Stuck == "" {
			one.seen = time.Now()
		}
		one.stuck = b.Stuck
	}
}

// told passes on a notice.
func (h *coordinator) told(m *nats.Msg) {
	var n notice
	if json.Unmarshal(m.Data, &n) == nil {
		h.opts.Warn(n.Text)
	}
}

// patience returns how long a worker may be silent. The caller holds mu.
func (h *coordinator) patience(number int) time.Duration {
	if h.opts.patienceOf != nil {
		return h.opts.patienceOf(number, h.workers[number].attempt)
	}
	return h.opts.Patience
}

// forgive lets every worker be silent from now on: the coordinator or the bus was away itself. The caller holds mu.
func (h *coordinator) forgive() {
	for i := range h.workers {
		h.workers[i].seen = time.Now()
	}
}

// close ends the processes and, if this coordinator owns it, the run.
func (h *coordinator) close() {
	if h.owns && h.nc.IsConnected() {
		_ = h.put(context.Background(), keyEnd, stop{Why: "the run is over"})
	}
	var ending crash.Group
	for i := range h.workers {
		if p := h.workers[i].process; p != nil {
			ending.Go(func() {
				p.end(endWithin)
			})
		}
	}
	ending.Wait()
	for _, s := range h.subs {
		_ = s.Unsubscribe()
	}
	if h.stop != nil {
		h.stop()
	}
	h.waiting.Wait()
	if h.nc != nil {
		h.nc.Close()
	}
	if h.embedded != nil {
		h.embedded.close()
	}
}
