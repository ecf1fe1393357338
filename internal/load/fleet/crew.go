package fleet

import (
	"context"
	"sync"
	"time"

	"assay/internal/load"
	"assay/internal/record/bundle"
)

// crew is the workers of one round.
type crew struct {
	coordinator *coordinator
	order       load.Order
	over        func() // ends the fleet; nil keeps it for the next round
	at          time.Time

	mu      sync.Mutex // guards what follows
	merger  *merger    // nil before Run
	costs   map[int]cost
	aborted string
}

// cost is what a worker needed.
type cost struct {
	cpu float64
	rss int64
}

var _ load.Crew = (*crew)(nil)

// Name returns the name of the engine of the workers.
func (c *crew) Name() string { return c.order.Job.Engine }

// Aborted says why a lost worker ended the run.
func (c *crew) Aborted() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.aborted
}

// Costs returns the processor time and the memory of the workers.
func (c *crew) Costs() (cpu float64, rss int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.costs {
		cpu, rss = cpu+one.cpu, rss+one.rss
	}
	return cpu, rss
}

// Members describes the workers.
func (c *crew) Members() []bundle.LoadWorker {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.coordinator
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]bundle.LoadWorker, len(h.workers))
	for i := range h.workers {
		m := &h.workers[i]
		all[i] = bundle.LoadWorker{Shard: i, Lost: m.lost, LostMS: int64((m.lostAt + time.Millisecond - 1) / time.Millisecond)}
		if m.joined != nil {
			all[i].Host, all[i].PID, all[i].Version = m.joined.Host, m.joined.PID, m.joined.Version
		}
		if m.ready != nil {
			all[i].OffsetUS, all[i].OffsetErrorUS = m.ready.Offset.Microseconds(), m.ready.Error.Microseconds()
		}
		if c.merger != nil {
			s := c.merger.shards[i]
			all[i].Begun, all[i].Completed, all[i].Windows = s.counts.Begun(), s.counts.Outcomes.Total(), s.digest.windows
			if s.seal != nil {
				all[i].LateUS = s.seal.LateNS / int64(time.Microsecond)
			}
		}
	}
	return all
}

// Close ends the workers, unless they wait for another round.
func (c *crew) Close() {
	if c.over != nil {
		c.over()
	}
}

const (
	// lead is the time from the opening of the barrier to the start, on one machine and over a network, and leadEach is added for
	// each worker.
	lead       = 200 * time.Millisecond
	leadRemote = time.Second
	leadEach   = 2 * time.Millisecond
)

// Begin opens the barrier.
func (c *crew) Begin(ctx context.Context) (time.Time, error) {
	h := c.coordinator
	if h.resumed.At != 0 {
		return c.at, nil
	}
	attempts := h.attempts()
	ahead := lead
	if h.embedded == nil {
		ahead = leadRemote
	}
	ahead += time.Duration(len(attempts)) * leadEach
	var s start
	err := h.nc.insist(context.WithoutCancel(ctx), func(call context.Context) error {
		s = start{At: h.opts.Now().Add(ahead).UnixNano(), Attempts: attempts}
		first, err := create(call, h.kv, keyStart(h.round), s)
		if err == nil && !first { // the answer to an earlier call was lost, and the workers may know that start already
			err = value(call, h.kv, keyStart(h.round), &s)
		}
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	})
	if err != nil {
		return time.Time{}, h.nc.stored("starting the workers", err)
	}
	c.at = h.here(s.At)
	return c.at, nil
}

// attempts returns the attempts that take part, by shard, 0 for a worker that is lost. From now on every worker may be silent.
func (h *coordinator) attempts() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]int, len(h.workers))
	for i := range h.workers {
		if h.workers[i].lost == "" {
			all[i] = h.workers[i].attempt
		}
	}
	h.forgive()
	return all
}

// Run begins to merge, and returns when all shards are sealed and merged. See load.Engine.
func (c *crew) Run(ctx context.Context, _ *load.Plan, s load.Sink) error {
	sink, ok := s.(load.Merger)
	if !ok {
		return errNoMerger
	}
	h := c.coordinator
	attempts := h.attempts()
	m := newMerger(sink, attempts)
	for i, a := range attempts {
		m.shards[i].whole = a == 0
	}
	c.mu.Lock()
	c.merger = m
	c.mu.Unlock()
	f := &follower{
		crew: c, windows: make(chan stored, 1024), dying: map[int]dying{}, looked: time.Now(), progress: time.Now(),
		deadline: c.at.Add(hardEnd(&c.order.Job, &c.order.Limits) + h.opts.Patience),
	}
	return f.run(ctx)
}
