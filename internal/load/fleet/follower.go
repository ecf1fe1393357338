package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"assay/internal/base/crash"
)

// follower is the goroutine of a round that merges.
type follower struct {
	*crew

	windows chan stored
	merged  int // since the last purge
	// dying are the lost workers whose shard is sealed as soon as the windows up to a sequence are merged.
	dying    map[int]dying
	ending   time.Time // after it, every worker that has not sealed is lost; zero: the run goes on
	untold   string    // why the workers are to end, until the bus has taken it
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

// run merges until the round is complete.
func (f *follower) run(ctx context.Context) error {
	h := f.coordinator
	reading, stop := context.WithCancel(context.Background())
	var listening crash.Group
	listening.Go(func() {
		followWindows(reading, h.nc, h.names.stream(), h.last+1, func(subject string, sequence uint64, payload []byte) {
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
		if complete && h.opts.Rounds {
			f.purge()
		}
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
func (h *coordinator) processes() (all []*process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.workers {
		if p := h.workers[i].process; p != nil {
			all = append(all, p)
		}
	}
	return all
}

// purgeEvery is the number of merged windows after which a bus of this process forgets them.
const purgeEvery = 256

// purge removes what is merged from the stream of a run that nobody resumes: one on a bus of this process, or a round of several.
func (f *follower) purge() {
	f.merged = 0
	ctx, stop := context.WithTimeout(context.Background(), callWithin)
	defer stop()
	_ = f.coordinator.stream.Purge(ctx, jetstream.WithPurgeSequence(f.coordinator.last+1)) // what is left goes with the next one
}

// window merges a window.
func (f *follower) window(w stored) error {
	h := f.coordinator
	h.last, f.progress = w.sequence, time.Now()
	id, err := h.names.parse(w.subject)
	if err != nil || id.round != h.round || !h.knows(id.shard) {
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
		f.purge()
	}
	return nil
}

// step takes in the seals, seals the lost, and reports whether the round is complete.
func (f *follower) step() (bool, error) {
	h := f.coordinator
	f.mu.Lock()
	defer f.mu.Unlock()
	h.mu.Lock()
	seals := map[int]*seal{}
	for number, s := range h.seals {
		seals[number] = s
	}
	halted := h.halted
	h.mu.Unlock()
	if halted != "" && f.ending.IsZero() {
		f.aborted = "the run was ended by the assay load before this one, or by another one: " + halted
		f.endLocked(halted)
	}
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
		if h.last >= d.upTo || f.alone() {
			if err := f.sealLost(number, d.why); err != nil {
				return false, err
			}
		}
	}
	return f.merger.complete(), f.failure()
}

// inherit names a worker that the coordinator before this one has lost. The caller holds mu.
func (f *follower) inherit(number int, s *seal) {
	h := f.coordinator
	h.mu.Lock()
	known := s.Lost == "" || h.workers[number].lost != ""
	if !known {
		h.workers[number].lost, h.workers[number].lostAt = s.Lost, time.Duration(s.LostNS)
	}
	h.mu.Unlock()
	if !known {
		f.applyPolicy(number, s.Lost, time.Duration(s.LostNS))
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
	h := f.coordinator
	s := f.merger.shards[number]
	own := s.digest.seal(s.attempt)
	own.Lost, own.LostNS = why, int64(max(time.Since(f.at), 1))
	first, err := create(context.Background(), h.kv, keySeal(h.round, number), own)
	if err != nil && !f.over() {
		return nil //nolint:nilerr // the bus is away; the next step tries again
	}
	delete(f.dying, number)
	if !first && err == nil {
		reread(context.Background(), h.kv, []string{keySeal(h.round, number)}, h.note) // it has sealed itself in the last moment
		return nil
	}
	h.mu.Lock()
	h.workers[number].lost, h.workers[number].lostAt = why, time.Duration(own.LostNS)
	h.mu.Unlock()
	h.opts.Warn(f.obituary(number, why, time.Duration(own.LostNS)))
	f.applyPolicy(number, why, time.Duration(own.LostNS))
	return f.merger.sealed(number, &own)
}

// obituary says that a worker was lost. The caller holds mu.
func (f *follower) obituary(number int, why string, at time.Duration) string {
	m := &f.coordinator.workers[number]
	return fmt.Sprintf("worker %d of %d (%s, process %d) was lost after %v: %s", number+1, len(f.coordinator.workers), m.joined.Host, m.joined.PID, at.Round(100*time.Millisecond), why)
}

// applyPolicy applies the policy. The caller holds mu.
func (f *follower) applyPolicy(number int, why string, at time.Duration) {
	h, left := f.coordinator, 0
	h.mu.Lock()
	for i := range h.workers {
		if h.workers[i].lost == "" {
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
	info, err := f.coordinator.stream.Info(ctx)
	switch {
	case err == nil:
		f.dying[number] = dying{why, info.State.LastSeq}
	case f.over():
		f.dying[number] = dying{why, f.coordinator.last}
	}
}

// over reports whether the round needs no bus any more to end: its time is over, or the bus is gone for good. The caller holds mu.
func (f *follower) over() bool {
	now := time.Now()
	return now.After(f.deadline) || !f.ending.IsZero() && now.After(f.ending) || f.coordinator.nc.forsaken() != nil
}

// alone reports whether nothing comes from the bus any more before the round ends. The caller holds mu.
func (f *follower) alone() bool { return f.coordinator.nc.away() > 0 && f.over() }

// end tells the workers to end.
func (f *follower) end(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endLocked(why)
}

// slack is what the coordinator waits longer than the workers may take to end.
const slack = 2 * time.Second

func (f *follower) endLocked(why string) {
	h := f.coordinator
	f.untold = why
	f.tell()
	if !h.opts.Rounds {
		for _, p := range h.processes() {
			p.interrupt()
		}
	}
	if f.ending.IsZero() {
		f.ending = time.Now().Add(f.order.Limits.Ending(true)*9/10 + slack)
	}
}

// tell tells the workers to end, if they are to. The caller holds mu.
func (f *follower) tell() {
	if f.untold != "" && f.coordinator.put(context.Background(), keyStop(f.coordinator.round), stop{Why: f.untold}) == nil {
		f.untold = ""
	}
}

// overdueAfter is how long sealed windows may take to be read.
const overdueAfter = time.Minute

// overdue returns an error if windows that are sealed do not come.
func (f *follower) overdue() error {
	h := f.coordinator
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
	h := f.coordinator
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	alone := f.alone()
	if !alone {
		f.tell()
	}
	h.mu.Lock()
	if now.Sub(f.looked) > h.opts.Patience/2 || !h.nc.IsConnected() {
		h.forgive()
	}
	f.looked = now
	lost := map[int]string{}
	for i := range h.workers {
		m := &h.workers[i]
		switch over := !f.ending.IsZero() && now.After(f.ending); {
		case f.merger.shards[i].seal != nil || f.merger.shards[i].whole || h.seals[i] != nil || m.lost != "":
		case m.gone() != "":
			lost[i] = m.gone()
		case alone:
			lost[i] = h.nc.absence()
		case now.After(f.deadline):
			lost[i] = "it has not ended at the hard end of the plan"
		case over:
			lost[i] = "it did not end in time when the run was ended"
		case now.Sub(m.seen) > h.patience(i) && m.stuck != "":
			lost[i] = "it could not publish for " + h.patience(i).String() + ": " + m.stuck
		case now.Sub(m.seen) > h.patience(i):
			lost[i] = silent(h.patience(i))
		}
	}
	h.mu.Unlock()
	for number, why := range lost {
		f.lose(number, why)
	}
}
