package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"assay/internal/bundle"
	"assay/internal/crash"
	"assay/internal/load"
)

// crew is the workers of one round.
type crew struct {
	hall  *hall
	order load.Order
	over  func() // ends the fleet; nil keeps it for the next round
	at    time.Time

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
	h := c.hall
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]bundle.LoadWorker, len(h.members))
	for i := range h.members {
		m := &h.members[i]
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
	h := c.hall
	if h.resumed.At != 0 {
		return c.at, nil
	}
	h.mu.Lock()
	attempts := make([]int, len(h.members))
	for i := range h.members {
		if h.members[i].lost == "" {
			attempts[i] = h.members[i].attempt
		}
	}
	h.forgive()
	h.mu.Unlock()
	ahead := lead
	if h.embedded == nil {
		ahead = leadRemote
	}
	ahead += time.Duration(len(attempts)) * leadEach
	c.at = time.Now().Add(ahead)
	if err := h.put(context.WithoutCancel(ctx), keyStart(h.round), start{At: h.opts.Now().Add(ahead).UnixNano(), Attempts: attempts}); err != nil {
		return time.Time{}, err
	}
	return c.at, nil
}

// follower is the goroutine of a round that merges.
type follower struct {
	*crew

	windows chan stored
	last    uint64 // the last sequence of the stream that was merged
	merged  int    // since the last purge
	// dying are the lost workers whose shard is sealed as soon as the windows up to a sequence are merged.
	dying    map[int]dying
	ending   time.Time // after it, every worker that has not sealed is lost; zero: the run goes on
	looked   time.Time
	progress time.Time // when the last window was merged
	deadline time.Time
}

// stored is a window in the stream.
type stored struct {
	subject  string
	sequence uint64
	payload  []byte
}

// dying is a lost worker that is not sealed yet.
type dying struct {
	why  string
	upTo uint64
}

// Run begins to merge, and returns when all shards are sealed and merged. See load.Engine.
func (c *crew) Run(ctx context.Context, _ *load.Plan, s load.Sink) error {
	sink, ok := s.(load.Merger)
	if !ok {
		return errNoMerger
	}
	h := c.hall
	attempts := make([]int, len(h.members))
	h.mu.Lock()
	for i := range h.members {
		if h.members[i].lost == "" {
			attempts[i] = h.members[i].attempt
		}
	}
	h.mu.Unlock()
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

// run merges until the round is complete.
func (f *follower) run(ctx context.Context) error {
	h := f.hall
	reading, stop := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	listening.Go(func() {
		defer crash.Catch()
		followWindows(reading, h.nc, h.js, h.names.stream(), f.last+1, func(subject string, sequence uint64, payload []byte) {
			select {
			case f.windows <- stored{subject, sequence, payload}:
			case <-reading.Done():
			}
		})
	})
	defer func() { stop(); listening.Wait() }()
	if p := f.order.Pause; p != nil {
		pausing, over := context.WithCancel(ctx)
		wait := suspend(pausing, p, h.processes())
		defer func() { over(); wait() }()
	}
	look := time.NewTicker(min(h.opts.Patience/10, 200*time.Millisecond))
	defer look.Stop()
	interrupted := ctx.Done()
	for {
		complete, err := f.step()
		if err != nil || complete {
			return err
		}
		select {
		case w := <-f.windows:
			if err := f.window(w); err != nil {
				return err
			}
		case <-h.changed:
		case <-look.C:
			f.watch()
			if err := f.overdue(); err != nil {
				return err
			}
		case <-interrupted:
			interrupted = nil
			f.end("the run ends")
		}
	}
}

// processes returns the worker processes of this machine.
func (h *hall) processes() (all []*process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.members {
		if p := h.members[i].process; p != nil {
			all = append(all, p)
		}
	}
	return all
}

// purgeEvery is the number of merged windows after which a bus of this process forgets them: nobody reads them again.
const purgeEvery = 256

// window merges a window.
func (f *follower) window(w stored) error {
	h := f.hall
	f.last, f.progress = w.sequence, time.Now()
	id, err := h.names.parse(w.subject)
	if err != nil || id.round != h.round {
		return nil //nolint:nilerr // it is no window of this round
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.merger.window(id, w.payload); err != nil {
		return err
	}
	if s := f.merger.shards[id.shard]; s.done {
		f.costs[id.shard] = cost{s.cpu, s.rss}
	}
	f.merged++
	if h.embedded != nil && f.merged >= purgeEvery {
		f.merged = 0
		ctx, stop := context.WithTimeout(context.Background(), callWithin)
		_ = h.stream.Purge(ctx, jetstream.WithPurgeSequence(f.last)) // what is left goes with the next one
		stop()
	}
	return nil
}

// step takes in the seals, seals the lost, and reports whether the round is complete.
func (f *follower) step() (bool, error) {
	h := f.hall
	f.mu.Lock()
	defer f.mu.Unlock()
	h.mu.Lock()
	seals := map[int]*seal{}
	for number, s := range h.seals {
		seals[number] = s
	}
	h.mu.Unlock()
	for number, s := range seals {
		if err := f.merger.sealed(number, s); err != nil {
			return false, err
		}
		f.inherit(number, s)
	}
	for number, d := range f.dying {
		if f.merger.shards[number].seal != nil {
			delete(f.dying, number) // it was not lost after all, or is sealed now
			continue
		}
		if f.last >= d.upTo {
			if err := f.sealLost(number, d.why); err != nil {
				return false, err
			}
		}
	}
	return f.merger.complete(), f.failure()
}

// inherit names a worker that the coordinator before this one has lost. The caller holds mu.
func (f *follower) inherit(number int, s *seal) {
	h := f.hall
	h.mu.Lock()
	known := s.Lost == "" || h.members[number].lost != ""
	if !known {
		h.members[number].lost, h.members[number].lostAt = s.Lost, time.Duration(s.LostNS)
	}
	h.mu.Unlock()
	if !known {
		f.bury(number, s.Lost, time.Duration(s.LostNS))
	}
}

// failure returns the error of a worker whose engine failed, when the round is complete. The caller holds mu.
func (f *follower) failure() error {
	if !f.merger.complete() {
		return nil
	}
	var all []error
	for _, s := range f.merger.shards {
		if s.failure != "" {
			all = append(all, fmt.Errorf("worker %d of %d: %s", s.number+1, len(f.merger.shards), s.failure))
		}
	}
	return errors.Join(all...)
}

// sealLost seals what is recorded of a lost worker. The caller holds mu.
func (f *follower) sealLost(number int, why string) error {
	h := f.hall
	s := f.merger.shards[number]
	own := s.digest.seal(s.attempt)
	own.Lost, own.LostNS = why, int64(max(time.Since(f.at), 1))
	first, err := create(context.Background(), h.kv, keySeal(h.round, number), own)
	if err != nil && time.Now().Before(f.deadline) {
		return nil //nolint:nilerr // the bus is away; the next step tries again
	}
	delete(f.dying, number)
	if !first && err == nil {
		reread(context.Background(), h.kv, []string{keySeal(h.round, number)}, h.note) // it has sealed itself in the last moment
		return nil
	}
	h.mu.Lock()
	h.members[number].lost, h.members[number].lostAt = why, time.Duration(own.LostNS)
	h.mu.Unlock()
	h.opts.Say(f.obituary(number, why, time.Duration(own.LostNS)))
	f.bury(number, why, time.Duration(own.LostNS))
	return f.merger.sealed(number, &own)
}

// obituary says that a worker was lost. The caller holds mu.
func (f *follower) obituary(number int, why string, at time.Duration) string {
	m := &f.hall.members[number]
	return fmt.Sprintf("worker %d of %d (%s, process %d) was lost after %v: %s", number+1, len(f.hall.members), m.joined.Host, m.joined.PID, at.Round(100*time.Millisecond), why)
}

// bury applies the policy. The caller holds mu.
func (f *follower) bury(number int, why string, at time.Duration) {
	h, left := f.hall, 0
	h.mu.Lock()
	for i := range h.members {
		if h.members[i].lost == "" {
			left++
		}
	}
	h.mu.Unlock()
	if f.aborted != "" || h.opts.Policy == Degrade && left > 0 {
		return
	}
	f.aborted = "ended because " + f.obituary(number, why, at)
	if left > 0 {
		f.endLocked("a worker was lost")
	}
}

// lose notes that a worker was lost. It is sealed when everything is merged that it has published. The caller holds mu.
func (f *follower) lose(number int, why string) {
	if _, ok := f.dying[number]; ok || f.merger.shards[number].seal != nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), callWithin)
	defer stop()
	info, err := f.hall.stream.Info(ctx)
	switch {
	case err == nil:
		f.dying[number] = dying{why, info.State.LastSeq}
	case time.Now().After(f.deadline):
		f.dying[number] = dying{why, f.last} // the bus is gone for good
	}
}

// end tells the workers to end.
func (f *follower) end(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endLocked(why)
}

// slack is what the coordinator waits longer than the workers may take to end.
const slack = 2 * time.Second

func (f *follower) endLocked(why string) {
	h := f.hall
	_ = h.put(context.Background(), keyStop(h.round), stop{Why: why}) // the closed input tells those of this machine
	if !h.opts.Rounds {
		for _, p := range h.processes() {
			p.interrupt()
		}
	}
	if f.ending.IsZero() {
		f.ending = time.Now().Add(f.order.Limits.Ending(true)*9/10 + slack)
	}
}

// overdueAfter is how long sealed windows may take to be read.
const overdueAfter = time.Minute

// overdue returns an error if windows that are sealed do not come.
func (f *follower) overdue() error {
	h := f.hall
	f.mu.Lock()
	defer f.mu.Unlock()
	if !h.nc.IsConnected() || time.Since(f.progress) < overdueAfter {
		return nil
	}
	missing := 0
	for _, s := range f.merger.shards {
		if s.seal == nil && !s.whole {
			return nil
		}
		if s.seal != nil {
			missing += max(s.seal.Windows-s.digest.windows, 0)
		}
	}
	return fmt.Errorf("%d windows that the workers have sealed did not come from the bus at %s within %v", missing, h.bus.URL, overdueAfter)
}

// watch looks for workers that were lost.
func (f *follower) watch() {
	h := f.hall
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	h.mu.Lock()
	if now.Sub(f.looked) > h.opts.Patience/2 || !h.nc.IsConnected() {
		h.forgive()
	}
	f.looked = now
	lost := map[int]string{}
	for i := range h.members {
		m := &h.members[i]
		switch over := !f.ending.IsZero() && now.After(f.ending); {
		case f.merger.shards[i].seal != nil || f.merger.shards[i].whole || h.seals[i] != nil || m.lost != "":
		case m.exited != "":
			lost[i] = m.exited
		case now.After(f.deadline):
			lost[i] = "it has not ended at the hard end of the plan"
		case over:
			lost[i] = "it did not end in time when the run was ended"
		case now.Sub(m.seen) > h.opts.Patience && m.stuck != "":
			lost[i] = "it could not publish for " + h.opts.Patience.String() + ": " + m.stuck
		case now.Sub(m.seen) > h.opts.Patience:
			lost[i] = silent(h.opts.Patience)
		}
	}
	h.mu.Unlock()
	for number, why := range lost {
		f.lose(number, why)
	}
}
